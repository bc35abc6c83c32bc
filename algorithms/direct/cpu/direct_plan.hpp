// What every plan of this folder is: a Plan of one problem that can say what it does. See
// correlation_plan.hpp (forward and backward-data) and filter_plan.hpp (backward-filter) for the two frames.
#pragma once

#include "algorithms/direct/cpu/kernels.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::direct {

inline constexpr int64_t kAlignment = 16;      // floats, of every part of a workspace
inline constexpr int64_t kTasksPerThread = 4;  // so that threads finish together
inline constexpr int64_t kAhead = 8;           // channels of a filter that are asked for before their turn

class DirectPlan : public Plan {
 public:
  // What prepare() and run() execute, lanes and columns that are computed and dropped included.
  virtual std::optional<OperationCount> operations() const = 0;
  int64_t workspace_bytes() const final { return total_floats_ * static_cast<int64_t>(sizeof(float)); }

 protected:
  DirectPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
      : problem_(problem),
        kernels_(kernels),
        options_(options),
        filter_shape_(problem.shape(Role::filter)),
        cap_floats_(options.workspace_cap / static_cast<int64_t>(sizeof(float))) {}

  ConvProblem problem_;
  Kernels kernels_;
  PlanOptions options_;
  TensorShape filter_shape_;
  int64_t cap_floats_;        // of the workspace
  int64_t total_floats_ = 0;  // that the workspace has
};

}  // namespace convscope::direct
