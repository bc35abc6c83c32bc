// How a training step runs against its convolutions run alone, all in one interleaved run. Three stages:
// every candidate is checked on the step's tensors; while tuning, each of the fast ones is run alone and
// inside the step, in turn; then the winners are compared, with whatever may make a difference taken away one
// at a time. docs/step.md says what the figures mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/device/memory_load.hpp"
#include "bench/measure/health.hpp"
#include "bench/record/result.hpp"
#include "bench/step/candidates.hpp"

namespace convscope {

struct MeasureStepOptions : CandidateOptions {
  std::optional<LoadRate> load;  // beside which candidates are run alone once more while tuning
  CoreReading known_cores;       // the best that is known of the threads' cores; 0 where nothing is
  double seconds = 90;  // of tuning and comparing together; each makes its fewest rounds whatever it takes
};

// Rounds of a comparison: as many as an interval of a median needs, and those after which nothing is gained.
inline constexpr int64_t kMinRounds = 6, kMaxRounds = 200;

// Seconds of one task in one circumstance, a sample a round.
using Samples = std::vector<double>;
double median_of(const Samples& samples);  // 0 of none

struct TunedCandidate {
  std::string id;
  std::string implementation;
  int64_t workspace_bytes = 0;
  double relative_l2 = 0;
  // While tuning; empty where only one candidate is there. Under load: alone, beside the load.
  Samples alone{}, inside{}, under_load{};
};

struct TaskTimes {
  // Of a convolution its candidates, the fastest when checked first.
  std::vector<TunedCandidate> tuned;
  std::vector<std::string> left_out;
  // Of `tuned`; the same where one is chosen.
  size_t winner_alone = 0, winner_inside = 0, winner_under_load = 0;
  std::optional<size_t> winner_separate;  // inside, of those whose epilogue is a pass of its own
  // With the winner inside, in the step: as it runs, with caches emptied before the task, with a workspace of
  // its own; and outside it: caches emptied before, and right after another run of it.
  Samples inside, evicted, own_workspace, alone_cold, alone_hot;
  // In a step in which the best separate one runs wherever there is one; empty where there is none.
  Samples separate;
  // Clock right after the task, on a GPU after the step, in MHz; 0 where it cannot be read.
  Samples clock_inside, clock_alone;
};

struct StepTimes {
  std::vector<TaskTimes> tasks;  // as the step's
  // Sums over the tasks of a step, round by round, so that they are pairs. Of the winners alone empty where
  // they are those inside, and of the separate ones where there are none.
  Samples step, step_of_winners_alone, step_of_separate;
  int64_t tuning_rounds = 0;
  int64_t disturbed = 0;         // samples that were disturbed twice; a step is one sample
  double directional_error = 0;  // of check_gradient()
  double loss = 0;
  double load_bytes_per_second = 0;  // that the load moved while it was on
};

// Throws UsageError where a convolution has no candidate. A sample is disturbed where it lost time to
// other programs, or its threads share a core that had cores of their own, or a GPU's clock was low: it is
// taken once more, and a second one kept and counted.
StepTimes measure_step(TrainingStep& step, const Registry& registry, Device& device,
                       const MeasureStepOptions& options);

// The directional derivative of the loss along the gradient, each layer's scaled to length 1, against that by
// central differences: |difference| / derivative. Runs the step's tasks with these plans; parameters are
// restored. With a gradient of 0, 0.
double check_gradient(TrainingStep& step, const std::vector<Plan*>& plans, void* workspace, Queue& queue);

}  // namespace convscope
