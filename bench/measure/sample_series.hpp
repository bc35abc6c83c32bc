// SampleSeries: the samples of one candidate and one SeriesKind while they are taken, and what a candidate's
// series become in its record: a Measurement and a Health. Not here: taking a sample (sampler.hpp), and when
// a series has enough of them (stop_rule.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/clock_watch.hpp"
#include "bench/measure/core_watch.hpp"
#include "bench/measure/sample.hpp"
#include "bench/record/result.hpp"

namespace convscope {

std::string_view name(SeriesKind);

struct SampleSeries {
  size_t candidate = 0;
  SeriesKind kind = SeriesKind::full;
  int64_t iterations = 1;   // runs per sample
  double seconds_left = 0;  // that it may still spend
  double sample_cost = 0;   // wall seconds of one sample, untimed parts included
  int64_t rounds = 0;
  std::vector<Sample> samples;    // in the order taken
  std::vector<Sample> discarded;  // throttled ones, each taken again
  std::string stop_reason;        // empty while it goes on

  bool goes_on() const { return stop_reason.empty(); }
};

// Per run, one entry per sample.
std::vector<double> seconds_of(std::span<const Sample> samples);

// The totals and phases of one candidate, from its series among `all`. Its stop_reason is "failed" where it
// has no series `full`. Not set: warmup_runs, tensor_copies, plan_seconds.
Measurement measurement_of(std::span<const SampleSeries> all, size_t candidate);

// The state of the machine during one candidate's samples, judged against what `clocks` and `cores` saw in
// the whole group. Not set: governor and load averages.
Health health_of(std::span<const SampleSeries> all, size_t candidate, const ClockWatch& clocks,
                 const CoreWatch& cores);

}  // namespace convscope
