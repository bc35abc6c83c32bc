#include "bench/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace convscope {
namespace {

// The value below which `share` of the sorted samples lie.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The largest k for which the k-th smallest and k-th largest of n samples enclose the median with at least
// 95%: fewer than k of n fair coins fall on one side with at most 2.5%. 0 where there is no such pair.
size_t interval_rank(size_t n) {
  const auto size = static_cast<double>(n);
  double tail = 0;
  double log_chance = -size * std::log(2);  // of exactly `rank` coins; by lgamma threads would share signgam
  size_t rank = 0;
  while (rank < n) {
    tail += std::exp(log_chance);
    if (tail > 0.025) break;
    const auto k = static_cast<double>(rank);
    log_chance += std::log((size - k) / (k + 1));
    ++rank;
  }
  return rank;
}

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

Statistics summarise(std::span<const double> samples) {
  Statistics result;
  result.ci_low = result.ci_high = std::numeric_limits<double>::quiet_NaN();
  if (samples.empty()) return result;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const size_t rank = interval_rank(sorted.size());

  result.n = static_cast<int64_t>(sorted.size());
  result.median = quantile(sorted, 0.5);
  if (rank > 0) {
    result.ci_low = sorted[rank - 1];
    result.ci_high = sorted[sorted.size() - rank];
  }
  result.min = sorted.front();
  result.q1 = quantile(sorted, 0.25);
  result.q3 = quantile(sorted, 0.75);
  result.iqr = result.q3 - result.q1;
  result.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0;
  for (double sample : sorted) squares += (sample - result.mean) * (sample - result.mean);
  if (sorted.size() > 1) result.stddev = std::sqrt(squares / (n - 1));
  return result;
}

size_t nearest_to_median(std::span<const double> samples) {
  const double median = summarise(samples).median;
  const auto distance = [&](double sample) { return std::abs(sample - median); };
  return static_cast<size_t>(std::ranges::min_element(samples, {}, distance) - samples.begin());
}

double relative_half_width(const Statistics& s) {
  if (std::isnan(s.ci_low)) return std::numeric_limits<double>::infinity();
  if (s.median <= 0) return 0;
  return std::max(s.ci_high - s.median, s.median - s.ci_low) / s.median;
}

std::optional<std::string> stop_reason(std::span<const double> samples, const SamplingRule& rule,
                                       double seconds_left, double sample_seconds) {
  const auto n = static_cast<int64_t>(samples.size());
  const bool has_enough = n >= rule.min_samples;
  // Below the least samples the width decides nothing, so that it is no lucky one that ends a series: the
  // time has, and the width only says how.
  const bool out_of_time = n > 0 && seconds_left < sample_seconds &&
                           affordable_for_interval(n, rule, seconds_left, sample_seconds) <= 0;
  if (!has_enough && !out_of_time) return std::nullopt;
  if (relative_half_width(summarise(samples)) <= rule.confidence_width) return "converged";
  if (has_enough && n >= rule.max_samples) return "max_samples";
  return out_of_time ? std::optional<std::string>("time_limit") : std::nullopt;
}

int64_t next_round(int64_t samples, const SamplingRule& rule, double seconds_left, double sample_seconds) {
  const int64_t wanted = samples < rule.min_samples ? rule.min_samples - samples : (samples + 1) / 2;
  const int64_t possible = std::max(affordable(seconds_left, sample_seconds),
                                    affordable_for_interval(samples, rule, seconds_left, sample_seconds));
  return std::max<int64_t>(std::min({wanted, rule.max_samples - samples, possible}), 1);
}

}  // namespace convscope
