// The algorithms that may run a convolution of a training step: planned, and checked on the step's own
// tensors. A convolution takes what the registry has for the CPU in FP32 and nchw.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

// Picks one of a task's candidates, by index; nothing where none will do.
using Chooser = std::function<std::optional<size_t>(const ConvProblem&, const TaskCandidates&)>;

struct CandidateOptions {
  std::vector<std::string> algorithms;  // ids of the CPU's
  Chooser choose;                       // empty: all are candidates
  PlanOptions plan;
  size_t most = 6;  // candidates of a task that are kept, the fastest when checked
  uint64_t seed = 1;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// What may run each convolution of a step, checked, and the workspace that all of them share.
class StepCandidates {
 public:
  // Plans everything, then runs the step once, each convolution by all of its candidates. Those that are
  // wrong, or far slower than the fastest, are left out; the others are sorted, the fastest first. Throws
  // UsageError where a convolution has none.
  StepCandidates(TrainingStep& step, const Registry& registry, Device& device, Queue& queue,
                 const CandidateOptions& options);

  const TaskCandidates& operator[](size_t task) const { return tasks_[task]; }
  void* arena() const { return arena_.data(); }
  // By task, null where it is no convolution; `choice` has an index for each task.
  std::vector<Plan*> plans(const std::vector<size_t>& choice) const;

 private:
  void check_task(TrainingStep& step, size_t task, Queue& queue, const CandidateOptions& options);

  std::vector<TaskCandidates> tasks_;
  Buffer arena_;
};

// "conv2 backward_data"
std::string task_name(const TrainingStep& step, size_t task);
// The step's tasks that are convolutions.
std::vector<size_t> convolutions(const TrainingStep& step);

}  // namespace convscope
