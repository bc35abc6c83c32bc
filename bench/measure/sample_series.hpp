// Sample and SampleSeries: what is taken of one candidate, and what its series become in its record: a
// Measurement and a Health. Not here: taking a sample (sampler.hpp), and when a series has enough of them
// (statistics.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/measure/lost_time.hpp"
#include "bench/measure/watches.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// The time per run over a fixed number of runs of one candidate, and what the device and the cores
// showed around it. It travels as it is from the queue to the record: Measurement and Health summarise
// samples, and Google Benchmark's report is written from them (benchmark_driver.hpp).
struct Sample {
  double seconds = 0;                                            // per run
  double at_seconds = 0;                                         // when it ended, since 1970
  std::array<std::optional<double>, kPhaseCount> phase_seconds;  // per run; null where not marked
  std::optional<bool> held;                                      // as Timing::held
  DeviceState state;  // before it; the clock is the one that the samples are judged by
  // The lower rate and the longer latency of the readings before and after; null where cores are not watched.
  std::optional<CoreReading> cores;
  std::optional<LostTime> lost;     // of a CPU, from just before the runs to just after
  double involuntary_switches = 0;  // forced on the process, from the reading before to the one after
  bool throttled = false;           // the clock was too low or held down, or the threads were badly placed

  // How fast the threads computed beside it, in 1e9 operations per second, or a device's clock in MHz; null
  // where neither is known.
  std::optional<double> speed() const {
    return cores ? std::optional(1e-9 * cores->multiply_add_rate) : state.clock_mhz;
  }
  // Of its time what the threads lost, or of the time before it what other programs had of the GPU; null
  // where neither is known.
  std::optional<double> lost_share() const {
    if (lost) return lost->share();
    return state.others ? std::optional(state.others->share) : std::nullopt;
  }
  bool is_disturbed() const { return (lost && lost->share() > kDisturbedShare) || is_used_by_others(state); }
};

// What a series times. full: prepare and run; inference: run alone, filters prepared once; repeat: full
// again, for the noise floor; single: one run per sample, where full has a batch; phases: full with its
// phases marked, where marks cost time.
enum class SeriesKind { full, inference, repeat, single, phases };
std::string_view name(SeriesKind);

// The samples of one candidate and one SeriesKind while they are taken.
struct SampleSeries {
  size_t candidate = 0;
  SeriesKind kind = SeriesKind::full;
  int64_t iterations = 1;   // runs per sample
  double seconds_left = 0;  // that it may still spend
  double sample_cost = 0;   // wall seconds of one sample, untimed parts included
  int64_t rounds = 0;
  std::vector<Sample> samples;    // in the order taken
  std::vector<Sample> discarded;  // throttled and disturbed ones, each taken again
  std::string stop_reason;        // empty while it goes on

  bool goes_on() const { return stop_reason.empty(); }
};

// Per run, one entry per sample.
std::vector<double> seconds_of(std::span<const Sample> samples);

// The totals and phases of one candidate, from its series among `all`. Its stop_reason is "failed" where it
// has no series `full`. Not set: warmup_runs, tensor_copies, plan_seconds.
Measurement measurement_of(std::span<const SampleSeries> all, size_t candidate);

// A record is disturbed, or throttled by its driver, when more than this share of its kept samples is: its
// median may lie among them.
inline constexpr double kSuspectSamples = 0.25;

// The state of the machine during one candidate's samples, judged against what `clocks` and `cores` saw in
// the whole group. `other_programs` names them as they are now; it is asked only where they disturbed the
// candidate. Not set: governor and load averages.
Health health_of(std::span<const SampleSeries> all, size_t candidate, const ClockWatch& clocks,
                 const CoreWatch& cores, const std::function<std::string()>& other_programs);

}  // namespace convscope
