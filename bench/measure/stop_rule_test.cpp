#include <gtest/gtest.h>

#include <vector>

#include "bench/core/random.hpp"
#include "bench/measure/statistics.hpp"

namespace convscope {
namespace {

std::vector<double> noisy(int64_t n, double noise, uint64_t seed) {
  std::vector<double> samples;
  for (int64_t i = 0; i < n; ++i)
    samples.push_back(1 + noise * random_uniform(seed, static_cast<uint64_t>(i)));
  return samples;
}

TEST(StopRule, ConvergesOnQuietSamplesOnceThereAreEnough) {
  const SamplingRule options;
  EXPECT_EQ(stop_reason(noisy(9, 0.001, 1), options, 10, 0.1), std::nullopt);
  EXPECT_EQ(stop_reason(noisy(10, 0.001, 1), options, 10, 0.1), "converged");
}

TEST(StopRule, GoesOnWhileMoreSamplesHelp) {
  // Ten wide samples, then five at the centre, which narrow the interval.
  std::vector<double> samples{0.9, 1.1, 0.92, 1.08, 0.94, 1.06, 0.96, 1.04, 0.9, 1.1};
  for (int i = 0; i < 5; ++i) samples.push_back(1.0 + 0.01 * i);
  EXPECT_EQ(stop_reason(samples, {}, 10, 0.1), std::nullopt);
}

TEST(StopRule, GoesOnAsLongAsTheIntervalIsTooWideHoweverSlowlyItNarrows) {
  // Two clocks: the interval stays as wide as their distance.
  std::vector<double> samples;
  for (int i = 0; i < 199; ++i) {
    samples.push_back(i % 2 == 0 ? 1.0 : 1.2);
    ASSERT_EQ(stop_reason(samples, {}, 10, 0.1), std::nullopt) << i;
  }
  samples.push_back(1.2);
  EXPECT_EQ(stop_reason(samples, {}, 10, 0.1), "max_samples");
}

TEST(StopRule, ConvergesAtTheWidthThatIsAskedFor) {
  SamplingRule rule;
  const std::vector<double> samples = noisy(20, 0.02, 3);
  const double width = relative_half_width(summarise(samples));
  ASSERT_GT(width, rule.confidence_width);
  EXPECT_EQ(stop_reason(samples, rule, 10, 0.1), std::nullopt);
  rule.confidence_width = width;
  EXPECT_EQ(stop_reason(samples, rule, 10, 0.1), "converged");
}

TEST(StopRule, StopsAtTheLimits) {
  SamplingRule options;
  options.max_samples = 20;
  EXPECT_EQ(stop_reason(noisy(20, 0.5, 2), options, 10, 0.1), "max_samples");
  EXPECT_EQ(stop_reason(noisy(6, 0.5, 2), options, 0.05, 0.1), "time_limit");
  EXPECT_EQ(stop_reason({}, options, 0, 0.1), std::nullopt) << "one sample is always taken";
}

TEST(StopRule, HasConvergedAtTheTimeLimitWhereTheIntervalIsWithinTheWidth) {
  SamplingRule rule;
  rule.time_limit_seconds = 1;
  for (int64_t n = 6; n < rule.min_samples; ++n) {
    EXPECT_EQ(stop_reason(noisy(n, 0.001, 1), rule, 0.15, 0.1), std::nullopt) << n << ", and time is left";
    EXPECT_EQ(stop_reason(noisy(n, 0.001, 1), rule, 0.05, 0.1), "converged") << n;
    EXPECT_EQ(stop_reason(noisy(n, 0.5, 1), rule, 0.05, 0.1), "time_limit") << n;
  }
  EXPECT_EQ(stop_reason(noisy(5, 0, 1), rule, -2, 0.1), "time_limit") << "without an interval";
}

TEST(StopRule, TakesTwoLimitsMoreForThoseSamplesThatAnIntervalNeeds) {
  SamplingRule rule;
  rule.time_limit_seconds = 1;
  EXPECT_EQ(next_round(0, rule, 0.4, 0.3), 6);
  EXPECT_EQ(next_round(0, rule, 0.4, 0.5), 4);
  EXPECT_EQ(stop_reason(noisy(5, 0.5, 2), rule, -1.5, 0.3), std::nullopt);
  EXPECT_EQ(next_round(5, rule, -1.5, 0.3), 1);
  EXPECT_EQ(stop_reason(noisy(5, 0.5, 2), rule, -1.8, 0.3), "time_limit");
  EXPECT_EQ(stop_reason(noisy(6, 0.5, 2), rule, -1.5, 0.3), "time_limit");
  rule.max_samples = 4;
  EXPECT_EQ(next_round(2, rule, -0.1, 0.3), 2) << "never more than the most";
}

TEST(StopRule, NeverConvergesWithoutAnInterval) {
  SamplingRule rule;
  rule.min_samples = 1;
  for (int64_t n = 1; n < 6; ++n) EXPECT_EQ(stop_reason(noisy(n, 0, 1), rule, 10, 0.1), std::nullopt) << n;
  EXPECT_EQ(stop_reason(noisy(6, 0, 1), rule, 10, 0.1), "converged");
  rule.max_samples = 3;
  EXPECT_EQ(stop_reason(noisy(3, 0, 1), rule, 10, 0.1), "max_samples");
}

TEST(StopRule, AlwaysEnds) {
  const SamplingRule options;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<double> endless = noisy(options.max_samples, 0.5, seed);
    int64_t taken = 0;
    double left = 15;
    while (!stop_reason(std::span(endless).first(static_cast<size_t>(taken)), options, left, 0.07)) {
      const int64_t next = next_round(taken, options, left, 0.07);
      ASSERT_GE(next, 1);
      taken += next;
      left -= 0.07 * static_cast<double>(next);
      ASSERT_LE(taken, options.max_samples);
    }
    EXPECT_GE(left, -0.07);
  }
}

TEST(StopRule, RoundsGrowByHalfWithinTheLimits) {
  SamplingRule options;
  EXPECT_EQ(next_round(0, options, 10, 0.1), 10);
  EXPECT_EQ(next_round(10, options, 10, 0.1), 5);
  EXPECT_EQ(next_round(150, options, 1000, 0.1), 50);
  EXPECT_EQ(next_round(0, options, 0.75, 0.1), 7);
  EXPECT_EQ(next_round(0, options, 0.35, 100), 1);
}

}  // namespace
}  // namespace convscope
