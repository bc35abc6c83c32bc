// What the tests of steps on ranks share: rows to be measured, and options that take little time.
#pragma once

#include <vector>

#include "bench/step/ranked_step.hpp"
#include "bench/step/test_steps.hpp"

namespace convscope {

inline MeasureStepOptions short_options() {
  MeasureStepOptions options;
  options.algorithms = {"exact.cpu", "same.cpu"};
  options.seconds = 0;
  return options;
}

inline StepRow row_of(Reduction reduction, int ranks, const Overlap& overlap = {}) {
  StepRow row;
  row.of.overlap = overlap;
  row.of.batch = 2 * ranks;
  row.of.fleet = {{ranks, ranks}, Basis::measured, "threads", "", {}};
  row.of.reduction = reduction;
  return row;
}

inline void measure_on_cpus(TrainingStep& step, const Registry& registry, CpuDevice& device, Fabric& fabric,
                            std::vector<StepRow>& rows, TrainingStep* whole = nullptr,
                            const RankedStepCalls& calls = {}) {
  const auto sums = sums_on_cpus(fabric, device, short_options().plan.threads);
  measure_ranked_step(step, registry, device, fabric, *sums, short_options(), rows, whole, calls);
}

}  // namespace convscope
