#include "bench/measure/sample_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "bench/measure/statistics.hpp"

namespace convscope {
namespace {

double median(std::span<const double> values) {
  return summarise(values).median;
}

// Null without a value.
std::optional<double> median_if_any(std::span<const double> values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

const SampleSeries* find(std::span<const SampleSeries> all, size_t candidate, SeriesKind kind) {
  for (const SampleSeries& series : all)
    if (series.candidate == candidate && series.kind == kind) return &series;
  return nullptr;
}

// Files hold no more digits than a reading is good for.
double rounded(double value, double steps_per_unit) {
  return std::round(value * steps_per_unit) / steps_per_unit;
}

Series summary(const SampleSeries& series) {
  Series result;
  result.samples = seconds_of(series.samples);
  result.statistics = summarise(result.samples);
  for (const Sample& sample : series.samples) {
    result.at_seconds.push_back(rounded(sample.at_seconds, 1e4));
    if (const auto speed = sample.speed()) result.speeds.push_back(rounded(*speed, 100));
    if (sample.held) result.not_held = result.not_held.value_or(0) + (*sample.held ? 0 : 1);
  }
  if (result.speeds.size() < result.samples.size()) result.speeds.clear();
  return result;
}

std::optional<Series> summary_if_any(const SampleSeries* series) {
  return series == nullptr ? std::nullopt : std::optional(summary(*series));
}

// Per sample, so that the kernel's own spread shows: the whole less the filter preparation and the layout
// changes. Null where layout changes are not marked.
std::optional<Series> kernel_of(std::span<const Sample> samples) {
  Series kernel;
  for (const Sample& sample : samples) {
    const auto& layout = sample.phase_seconds[static_cast<size_t>(Phase::layout)];
    if (!layout) return std::nullopt;
    const double prepare = sample.phase_seconds[static_cast<size_t>(Phase::prepare)].value_or(0);
    kernel.samples.push_back(sample.seconds - prepare - *layout);
  }
  if (kernel.samples.empty()) return std::nullopt;
  kernel.statistics = summarise(kernel.samples);
  return kernel;
}

std::optional<double> phase_median(std::span<const Sample> samples, Phase phase) {
  std::vector<double> seconds;
  for (const Sample& sample : samples)
    if (const auto& one = sample.phase_seconds[static_cast<size_t>(phase)]) seconds.push_back(*one);
  return median_if_any(seconds);
}

// What the driver said of a GPU, over every sample, discarded or not.
void add_device_state(std::span<const Sample* const> samples, Health& health) {
  std::vector<double> watts;
  std::set<std::string> reasons;
  double switches = 0;
  for (const Sample* sample : samples) {
    const DeviceState& state = sample->state;
    switches += sample->involuntary_switches;
    if (state.power_watts) watts.push_back(*state.power_watts);
    if (const auto& celsius = state.temperature_celsius)
      health.temperature_celsius = std::max(health.temperature_celsius.value_or(*celsius), *celsius);
    if (!state.throttle_reasons.empty()) reasons.insert(state.throttle_reasons);
  }
  health.involuntary_switches = switches;
  health.power_watts = median_if_any(watts);
  for (const std::string& reason : reasons)
    health.throttle_reasons += (health.throttle_reasons.empty() ? "" : "; ") + reason;
}

// With the programs of the sample of which they had most.
std::string disturbed_on_gpu(std::span<const Sample* const> disturbed) {
  std::vector<double> shares;
  for (const Sample* sample : disturbed) shares.push_back(sample->state.others->share);
  const Sample* const most = *std::ranges::max_element(
      disturbed, {}, [](const Sample* sample) { return sample->state.others->share; });
  const OthersUse use{*median_if_any(shares), most->state.others->programs};
  return "other programs had the GPU for " + use.text();
}

// To whom the disturbed samples lost most of their time, and how much of it. What disturbed a sample may be
// gone, and is then not named.
std::string disturbed_by(std::span<const Sample* const> disturbed,
                         const std::function<std::string()>& other_programs) {
  if (!disturbed.front()->lost) return disturbed_on_gpu(disturbed);
  std::map<TimeThief, double> lost;
  double wall = 0;
  for (const Sample* sample : disturbed) {
    lost[sample->lost->thief()] += sample->lost->seconds();
    wall += sample->lost->wall_seconds;
  }
  const auto most = std::max_element(lost.begin(), lost.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string thief =
      fmt::format("{} for {:.0f}% of the time", text(most->first), 100 * most->second / wall);
  const std::string programs = most->first == TimeThief::other_programs ? other_programs() : "";
  return programs.empty() ? thief : thief + "; now " + programs;
}

void add_lost_time(std::span<const Sample* const> kept, const std::function<std::string()>& other_programs,
                   Health& health) {
  std::vector<const Sample*> disturbed;
  std::vector<double> shares;
  for (const Sample* sample : kept) {
    if (const auto share = sample->lost_share()) shares.push_back(*share);
    if (sample->is_disturbed()) disturbed.push_back(sample);
  }
  health.lost_share = median_if_any(shares);
  health.disturbed_samples = static_cast<int64_t>(disturbed.size());
  health.disturbed =
      static_cast<double>(disturbed.size()) > kSuspectSamples * static_cast<double>(kept.size());
  if (health.disturbed) health.disturbed_by = disturbed_by(disturbed, other_programs);
}

}  // namespace

std::string_view name(SeriesKind kind) {
  constexpr std::string_view names[] = {"full", "inference", "repeat", "single", "phases"};
  return names[static_cast<size_t>(kind)];
}

std::vector<double> seconds_of(std::span<const Sample> samples) {
  std::vector<double> seconds;
  seconds.reserve(samples.size());
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  return seconds;
}

Measurement measurement_of(std::span<const SampleSeries> all, size_t candidate) {
  Measurement time;
  const SampleSeries* full = find(all, candidate, SeriesKind::full);
  if (full == nullptr) {
    time.stop_reason = "failed";
    return time;
  }
  time.full = summary(*full);
  time.rounds = full->rounds;
  time.iterations_per_sample = full->iterations;
  time.stop_reason = full->stop_reason;
  time.inference = summary_if_any(find(all, candidate, SeriesKind::inference));
  time.repeat = summary_if_any(find(all, candidate, SeriesKind::repeat));
  time.single = summary_if_any(find(all, candidate, SeriesKind::single));
  const SampleSeries* apart = find(all, candidate, SeriesKind::phases);
  const SampleSeries& marked = apart != nullptr ? *apart : *full;
  time.kernel = kernel_of(marked.samples);
  for (Phase phase : kPhases)
    time.phase_seconds[static_cast<size_t>(phase)] = phase_median(marked.samples, phase);
  return time;
}

Health health_of(std::span<const SampleSeries> all, size_t candidate, const ClockWatch& clocks,
                 const CoreWatch& cores, const std::function<std::string()>& other_programs) {
  Health health;
  std::vector<const Sample*> taken, kept;
  std::vector<double> clock_mhz, rates, latencies;
  size_t held_down = 0;
  for (const SampleSeries& series : all) {
    if (series.candidate != candidate) continue;
    health.discarded_samples += static_cast<int64_t>(series.discarded.size());
    for (const Sample& sample : series.discarded) taken.push_back(&sample);
    for (const Sample& sample : series.samples) {
      taken.push_back(&sample);
      kept.push_back(&sample);
      if (sample.state.clock_mhz) clock_mhz.push_back(*sample.state.clock_mhz);
      held_down += sample.state.is_held_down;
      if (!sample.cores) continue;
      rates.push_back(sample.cores->multiply_add_rate);
      if (const auto& latency = sample.cores->core_to_core_latency_seconds) latencies.push_back(*latency);
    }
  }
  add_device_state(taken, health);
  add_lost_time(kept, other_programs, health);
  health.clock_mhz = median_if_any(clock_mhz);
  health.throttled = (health.clock_mhz && clocks.is_throttled(*health.clock_mhz)) ||
                     static_cast<double>(held_down) > kSuspectSamples * static_cast<double>(kept.size());
  if (rates.empty()) return health;
  const CoreReading usual{median(rates), median_if_any(latencies)};
  health.core_share = cores.share(usual);
  health.core_to_core_latency_seconds = usual.core_to_core_latency_seconds;
  health.throttled = health.throttled || cores.is_slow(usual);
  return health;
}

}  // namespace convscope
