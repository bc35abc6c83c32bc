// The algorithms that may run a convolution of a training step: planned, and checked on the step's own
// tensors. A convolution takes what the registry has for the CPU in FP32 and nchw.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

struct StepCandidate {
  std::string id;
  std::unique_ptr<Plan> plan;
  int64_t workspace_bytes = 0;
  double relative_l2 = 0;       // of check()
  double screened_seconds = 0;  // a run right after the one that was checked
};

// Candidates of a task, and those that are none: "fft.tiled.cpu: stride 4x4: ...".
struct TaskCandidates {
  std::vector<StepCandidate> all;
  std::vector<std::string> left_out;
};

// Those of `ids` that support and plan the problem within the workspace cap.
TaskCandidates plan_candidates(const ConvProblem& problem, const std::vector<std::string>& ids,
                               const Registry& registry, Device& device, const PlanOptions& options);

// Runs the task with the candidate on the step's tensors, the written one filled with NaN before, and
// compares a sample of it with the definition in f64. Returns what is wrong, or nothing; fills in the error.
std::optional<std::string> check(TrainingStep& step, size_t task, StepCandidate& candidate, void* workspace,
                                 Queue& queue, uint64_t seed);

}  // namespace convscope
