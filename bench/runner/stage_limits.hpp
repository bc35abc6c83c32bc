// StageLimits: how long a stage of one candidate may take before the candidate counts as hung. They follow
// from the work that the stage has to do, so that a right candidate of a big problem is never cut short and a
// hang is never paid for with more than it needs; --stage-limit says them outright. Not here: who looks at
// the clock (bench/runner/isolation).
#pragma once

#include "bench/core/algorithm_info.hpp"
#include "bench/runner/run_group.hpp"

namespace convscope {

// Seconds: `silence` may pass without an event of the worker, `whole` from the stage's begin to its end. A
// candidate is measured in many visits with other candidates' between them; `whole` counts its own only.
struct StageLimit {
  double silence = 0, whole = 0;
};

struct StageLimits {
  StageLimit plan, verify, measure;  // verify_again has verify's
  const StageLimit& of(Stage stage) const;
};

// What one run of a candidate does: the nominal operations and bytes of its problem, or its plan's where
// those are more, as with transforms and tiles of a tiny image.
struct RunWork {
  double flops = 0, bytes = 0;
};
// `planned`: what the plan counts, once there is one; all zero where it does not say. What a GPU's blocks
// read from L2 is not in the bytes.
RunWork work_of(const ConvProblem& problem, DeviceKind device, const OperationCount& planned = {});

// With a run at a hundredth of the device's measured arithmetic and a twentieth of its bandwidth (or of what
// such devices have, where no ceilings were measured); the slowest right one of the runs in results/ takes
// 1.15 times as long, and every limit has room for more than it needs of those: docs/measuring.md has the
// table, and what is in place of it under --stage-limit. On a GPU a plan has time for many runs, since
// libraries time what they choose from.
StageLimits stage_limits(const GroupTask& task, const RunWork& work, const DeviceInfo& device,
                         const Ceilings& ceilings);

// A worker's time to start and to make its device, before its first event. A GPU's context takes seconds.
inline constexpr double kStartLimitSeconds = 60;
// The ceilings, which take about 1.2 s; --stage-limit's value where there is one.
double ceilings_limit(double stage_limit_seconds);

}  // namespace convscope
