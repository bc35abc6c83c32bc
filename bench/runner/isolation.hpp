// run_isolated(): a group in a worker of its own, and what becomes of it when a candidate crashes, hangs or
// takes all memory: the last event names the culprit, which becomes a record with that outcome, and the
// others run again in a fresh worker. The worker's own side is bench/runner/worker.
#pragma once

#include <optional>
#include <string>

#include "bench/algorithm/registry.hpp"
#include "bench/runner/run_group.hpp"
#include "bench/runner/stop_signal.hpp"

namespace convscope {

// Seconds that may pass after an event before the candidate that it named counts as hung.
struct StageLimits {
  double prepare = 0;  // plan, verify and verify_again
  double measure = 0;  // one visit: warm-up and pilot, or one sample
};

// From the time limit per candidate, T: 30 s + 10 T for planning and verification, which run the candidate a
// handful of times under no clock; 20 s + 4 T for a visit while measuring, which a well-behaved candidate
// ends within T and one more run. The constants are for a machine that is busy with other things.
StageLimits limits_of(const Protocol& protocol);

struct IsolationOptions {
  bool isolate = true;                        // false: on a thread of this process, without any limit
  std::string executable = "/proc/self/exe";  // started as `executable worker PARENT`
  std::optional<StageLimits> limits;          // instead of limits_of()
};

// Every candidate of the task ends as exactly one record in `sink`, unless `stop` was requested meanwhile:
// then false is returned at once and the rest is left out. Throws UsageError for a thread count that this
// machine does not have.
bool run_isolated(const GroupTask& task, const Registry& registry, const Ceilings& ceilings,
                  const IsolationOptions& options, StopSignal& stop, GroupSink& sink);

// A device's ceilings, measured in a worker; null when `stop` was requested. Throws std::runtime_error.
std::optional<Ceilings> measure_ceilings_isolated(DeviceKind device, int threads, const Registry& registry,
                                                  const IsolationOptions& options, StopSignal& stop);

}  // namespace convscope
