#include "bench/measure/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bench/core/random.hpp"

namespace convscope {
namespace {

TEST(Statistics, OfKnownNumbers) {
  const Statistics s = summarise(std::vector<double>{9, 2, 7, 4, 4, 5, 4, 5});
  EXPECT_EQ(s.n, 8);
  EXPECT_DOUBLE_EQ(s.median, 4.5);
  EXPECT_DOUBLE_EQ(s.mean, 5);
  EXPECT_DOUBLE_EQ(s.min, 2);
  EXPECT_DOUBLE_EQ(s.q1, 4);
  EXPECT_DOUBLE_EQ(s.q3, 5.5);
  EXPECT_DOUBLE_EQ(s.iqr, 1.5);
  EXPECT_NEAR(s.stddev, 2.13809, 1e-5);
  // Of 8 samples only the extremes enclose the median with 95% (99.2%; the second pair has 93.0%).
  EXPECT_DOUBLE_EQ(s.ci_low, 2);
  EXPECT_DOUBLE_EQ(s.ci_high, 9);
}

TEST(Statistics, IntervalRanksAreThoseOfTheSignTestsTable) {
  // n and the rank k for 95%, from the binomial distribution with p = 1/2.
  const std::pair<int, int> table[] = {{6, 1}, {9, 2}, {10, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {50, 18}};
  for (const auto& [n, rank] : table) {
    std::vector<double> samples;
    for (int i = 1; i <= n; ++i) samples.push_back(i);
    const Statistics s = summarise(samples);
    EXPECT_EQ(s.ci_low, rank) << n;
    EXPECT_EQ(s.ci_high, n + 1 - rank) << n;
  }
}

TEST(Statistics, IntervalCoversTheMedianAsOftenAsItSays) {
  int covered = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(25);
    for (size_t i = 0; i < samples.size(); ++i) {
      const double u = random_uniform(static_cast<uint64_t>(trial), i);
      samples[i] = 10 + u * u * u;  // skewed; its median is 10
    }
    const Statistics s = summarise(samples);
    covered += s.ci_low <= 10 && 10 <= s.ci_high;
  }
  EXPECT_GE(covered, 0.945 * trials);
  EXPECT_LE(covered, 0.975 * trials);  // 95.7% for 25 samples
}

TEST(Statistics, OfOneAndOfNone) {
  const Statistics one = summarise(std::vector<double>{3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.stddev, 0);
  EXPECT_EQ(summarise({}).n, 0);
}

TEST(Statistics, KnowWhichSampleIsNearestToTheMedian) {
  EXPECT_EQ(nearest_to_median(std::vector<double>{9, 1, 4, 5, 100}), 3);
  EXPECT_EQ(nearest_to_median(std::vector<double>{8, 4, 2, 9}), 0) << "of two as near the first";
  EXPECT_EQ(nearest_to_median(std::vector<double>{7}), 0);
}

TEST(Statistics, HaveNoIntervalBelowSixSamples) {
  for (size_t n = 0; n < 6; ++n) {
    const Statistics s = summarise(std::vector<double>(n, 3.0));
    EXPECT_TRUE(std::isnan(s.ci_low) && std::isnan(s.ci_high)) << n;
    EXPECT_TRUE(std::isinf(relative_half_width(s))) << n;
  }
  EXPECT_EQ(relative_half_width(summarise(std::vector<double>(6, 3.0))), 0);
}

TEST(Statistics, HalfWidthIsTheLargerSide) {
  Statistics s;
  s.median = 100;
  s.ci_low = 99;
  s.ci_high = 103;
  EXPECT_DOUBLE_EQ(relative_half_width(s), 0.03);
}

}  // namespace
}  // namespace convscope
