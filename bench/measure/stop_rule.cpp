#include "bench/measure/stop_rule.hpp"

#include <algorithm>

#include "bench/measure/statistics.hpp"

namespace convscope {
namespace {

// Samples that the median's 95% interval needs.
constexpr int64_t kMinForInterval = 6;
// Time limits that a series may take beyond its share, for those samples alone.
constexpr double kLimitsForInterval = 2;

int64_t affordable(double seconds, double sample_seconds) {
  return static_cast<int64_t>(std::min(seconds / std::max(sample_seconds, 1e-9), 1e9));
}

// More samples of that kind, with what time there is for them.
int64_t affordable_for_interval(int64_t samples, const SamplingRule& rule, double seconds_left,
                                double sample_seconds) {
  const double seconds = seconds_left + kLimitsForInterval * rule.time_limit_seconds;
  return std::min(kMinForInterval - samples, affordable(seconds, sample_seconds));
}

}  // namespace

std::optional<std::string> stop_reason(std::span<const double> samples, const SamplingRule& rule,
                                       double seconds_left, double sample_seconds) {
  const auto n = static_cast<int64_t>(samples.size());
  if (n >= rule.min_samples) {
    const double width = relative_half_width(summarise(samples));
    if (width <= rule.confidence_width) return "converged";
    if (n >= rule.max_samples) return "max_samples";
    const double earlier = relative_half_width(summarise(samples.first(samples.size() * 2 / 3)));
    // Two thirds of the first round are too few samples to compare with.
    if (n > rule.min_samples && width > (1 - kPlateauShrink) * earlier) return "noise_plateau";
  }
  if (n > 0 && seconds_left < sample_seconds &&
      affordable_for_interval(n, rule, seconds_left, sample_seconds) <= 0)
    return "time_limit";
  return std::nullopt;
}

int64_t next_round(int64_t samples, const SamplingRule& rule, double seconds_left, double sample_seconds) {
  const int64_t wanted = samples < rule.min_samples ? rule.min_samples - samples : (samples + 1) / 2;
  const int64_t possible = std::max(affordable(seconds_left, sample_seconds),
                                    affordable_for_interval(samples, rule, seconds_left, sample_seconds));
  return std::max<int64_t>(std::min({wanted, rule.max_samples - samples, possible}), 1);
}

}  // namespace convscope
