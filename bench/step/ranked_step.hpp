// A data-parallel training step that several ranks run: each computes the gradient of its share of the
// images, all sum their gradients, each updates alike. The sum begins when backward is done, or
// overlaps with it (rank_sums.hpp). Start at measure_ranked_step(), which every rank of a fabric calls.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/reductions/reductions.hpp"
#include "bench/parallel/schedule/step_row.hpp"
#include "bench/step/measure_step.hpp"
#include "bench/step/rank_sums.hpp"

namespace convscope {

// The last stage that options.progress is told: from here on no rank has longer to wait for others than a
// step and a sum take.
inline constexpr std::string_view kSummingGradients = "summing gradients";

// Calls may be empty, `paced` on all ranks.
struct RankedStepCalls {
  // Every few seconds, with the rows filled in from the complete rounds, so that a job that is killed has
  // lost no more.
  std::function<void()> keep;
  // Once all is verified and before anything is timed, with the seconds of the longest that a rank did
  // without hearing from the others: compute, a sum, or rank 0's whole step. The same on all ranks.
  std::function<void(double)> paced;
  // Whether the schedules get spans: on CPUs this rank's, of the step nearest to the median.
  bool records_spans = false;
};

// Fills in a row for each reduction, the same on every rank: step, compute and communication alone, and
// whether the summed gradients are right (a sample against f64, within (n-1) 2^-24 of the sum of magnitudes,
// and integers in the place of all of them exactly) and have the same bits on all ranks; a row that is not is
// `wrong` and has no time. Rank 0 chooses each convolution's algorithm, the fastest when checked or
// options.choose's, and all take it. A sample is the time of the slowest rank from a barrier on. `step` holds
// this rank's images: those from rank times its batch on. `whole`, on rank 0 alone, is the step that one
// process runs in place of all, of which the speed-up is: of all images, or where the scaling is weak of as
// many as a rank has. Its rounds have their turn among the others, while the other ranks wait. A sample that
// other programs disturbed on any rank is taken once more. A row whose sum has no memory on some rank is
// refused, as all are where the ranks of a machine lack memory together (rank_memory.hpp); where they lack it
// for `whole` alone there is no speed-up. `fabric` connects the ranks' host memory, `sums` the memory of the
// gradients. Throws UsageError where a convolution has no candidate, std::runtime_error where a rank is lost.
void measure_ranked_step(TrainingStep& step, const Registry& registry, Device& device, Fabric& fabric,
                         RankSums& sums, const MeasureStepOptions& options, std::span<StepRow> rows,
                         TrainingStep* whole = nullptr, const RankedStepCalls& calls = {});

}  // namespace convscope
