// The base of every CPU plan: the problem, the kernels, the options and the workspace, and the count of what
// the chosen schedule executes. Most plans derive from one of two frames that stage what they read:
// correlation_plan.hpp (forward and backward-data) and filter_plan.hpp (backward-filter). direct.cpp chooses.
#pragma once

#include <string>

#include "algorithms/direct/cpu/kernels.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::direct {

inline constexpr int64_t kAlignment = 16;        // floats, of every part of a workspace
inline constexpr int64_t kTasksPerThread = 4;    // so that threads finish together
inline constexpr int64_t kPrefetchChannels = 8;  // how far ahead a filter is prefetched

class DirectPlan : public Plan {
 public:
  // Lanes and columns that are computed and thrown away count as executed.
  virtual std::optional<OperationCount> operations() const = 0;
  int64_t workspace_bytes() const final { return total_floats_ * static_cast<int64_t>(sizeof(float)); }

 protected:
  DirectPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
      : problem_(problem),
        kernels_(kernels),
        options_(options),
        out_(problem.output()),
        input_shape_(problem.shape(Role::input)),
        filter_shape_(problem.shape(Role::filter)),
        output_shape_(problem.shape(Role::output)),
        cap_floats_(options.workspace_cap / static_cast<int64_t>(sizeof(float))) {}

  // For implementation(): ", 3 slices of rows", empty where nothing is sliced.
  static std::string slices_text(int64_t slices) {
    return slices > 1 ? ", " + std::to_string(slices) + " slices of rows" : "";
  }

  ConvProblem problem_;
  Kernels kernels_;
  PlanOptions options_;
  Extent2 out_;
  TensorShape input_shape_, filter_shape_, output_shape_;
  int64_t cap_floats_;        // of the workspace; a plan that cannot stay under it takes its minimum
  int64_t total_floats_ = 0;  // of the workspace
};

}  // namespace convscope::direct
