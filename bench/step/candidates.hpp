// The algorithms that may run a convolution of a training step: planned, and checked on the step's own
// tensors. A convolution takes what the registry has for the device in FP32 and nchw.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

struct StepCandidate {
  std::string id;
  std::unique_ptr<Plan> plan;
  int64_t workspace_bytes = 0;
  double relative_l2 = 0;      // of a sample of what it wrote on the step's tensors, against the definition
  double checked_seconds = 0;  // the shortest of runs right after the one that was checked
  bool is_separate = false;    // its epilogue is a pass of its own
};

// Candidates of a task, and those that are none: "fft.tiled.cpu: stride 4x4: ...".
struct TaskCandidates {
  std::vector<StepCandidate> all;
  std::vector<std::string> left_out;
};

// Picks one of a task's candidates, by index; nothing where none will do.
using Chooser = std::function<std::optional<size_t>(const ConvProblem&, const TaskCandidates&)>;

struct CandidateOptions {
  // Ids of the device's; separate forms are for convolutions with an epilogue alone.
  std::vector<std::string> algorithms;
  Chooser choose;  // empty: all are candidates
  PlanOptions plan;
  size_t most = 6;  // candidates of a task that are kept, the fastest when checked; of each form as many
  int timed_when_checked = 1;  // runs, of one that is not too slow in the first two
  uint64_t seed = 1;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  // Called before each sample, so that a device that hangs can be told from work that takes its time.
  std::function<void()> alive = [] {};
  // Asked between candidates and between rounds: whether the user wants no more of them.
  std::function<bool()> stopped = [] { return false; };
};

// The user stopped before every candidate was checked.
class StoppedEarly : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What may run each convolution of a step, checked, and the workspace that all of them share.
class StepCandidates {
 public:
  // Plans everything, then runs the step once but for its updates, each convolution by all of its candidates.
  // Those that are wrong, or take twice the fastest one's time, are left out; the others are sorted, the
  // fastest first. The fastest with a separate epilogue stays in any case.
  // Throws UsageError where a convolution has none, and StoppedEarly.
  StepCandidates(TrainingStep& step, const Registry& registry, Device& device, Queue& queue,
                 const CandidateOptions& options);

  const TaskCandidates& operator[](size_t task) const { return tasks_[task]; }
  void* arena() const { return arena_.data(); }
  // By task, null where it is no convolution; `choice` has an index for each task.
  std::vector<Plan*> plans(const std::vector<size_t>& choice) const;

 private:
  void check_task(TrainingStep& step, size_t task, Device& device, Queue& queue,
                  const CandidateOptions& options);

  std::vector<TaskCandidates> tasks_;
  Buffer arena_;
};

// "conv2 backward_data"
std::string task_name(const TrainingStep& step, size_t task);
// The step's tasks that are convolutions.
std::vector<size_t> convolutions(const TrainingStep& step);

}  // namespace convscope
