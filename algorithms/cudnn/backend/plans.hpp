// The plans of this folder: what cuDNN was asked, and what then runs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "algorithms/cudnn/backend/api.hpp"
#include "algorithms/cudnn/variants.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::cudnn {

// What every plan of an answer has in common: what runs is the offer that was chosen.
class AnsweredPlan : public Plan {
 public:
  AnsweredPlan(Handle handle, LibraryAnswer answer)
      : handle_(std::move(handle)), answer_(std::move(answer)) {}

  int64_t workspace_bytes() const override { return chosen().workspace_bytes; }
  std::string implementation() const override { return chosen().name; }
  const LibraryAnswer* answer() const override { return &answer_; }

 protected:
  const Handle& handle() const { return handle_; }
  const Offer& chosen() const { return answer_.offers[static_cast<size_t>(*answer_.chosen)]; }

 private:
  Handle handle_;
  LibraryAnswer answer_;
};

std::unique_ptr<Plan> make_legacy_plan(const Variant& variant, const ConvProblem& problem,
                                       const PlanOptions& options);
std::unique_ptr<Plan> make_graph_plan(const Variant& variant, const ConvProblem& problem, Device& device,
                                      const PlanOptions& options);
// The variant's choice in the other of the layouts NCHW and NHWC, as TensorFlow of 2017 did: all three
// tensors are transformed by cuDNN.
std::unique_ptr<Plan> make_transposed_plan(const Variant& variant, const ConvProblem& problem, Device& device,
                                           const PlanOptions& options);

// Sets the stream that the next calls work on.
void use_queue(const Handle& handle, Queue& queue);

}  // namespace convscope::cudnn
