// Sample: one reading of the clock over a fixed number of runs of one candidate, and what the device and the
// cores showed around it. It travels as it is from the queue to the record: Measurement and Health summarise
// samples (sample_series.hpp), and Google Benchmark's report is written from them (benchmark_driver.hpp).
#pragma once

#include <array>
#include <optional>

#include "bench/device/device.hpp"
#include "bench/measure/core_reading.hpp"

namespace convscope {

struct Sample {
  double seconds = 0;                                            // per run
  std::array<std::optional<double>, kPhaseCount> phase_seconds;  // per run; null where not marked
  std::optional<bool> held;                                      // as Timing::held
  DeviceState state;  // before it; the clock is the one that the samples are judged by
  // The lower rate and the longer latency of the readings before and after; null where cores are not watched.
  std::optional<CoreReading> cores;
  double involuntary_switches = 0;  // forced on the process, from the reading before to the one after
  bool throttled = false;           // the clock was too low or the threads were badly placed
};

// What a series times. full: prepare and run; inference: run alone, filters prepared once; repeat: full
// again, for the noise floor; single: one run per sample, where full has a batch; phases: full with its
// phases marked, where marks cost time.
enum class SeriesKind { full, inference, repeat, single, phases };

}  // namespace convscope
