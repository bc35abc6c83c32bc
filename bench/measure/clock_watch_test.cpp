#include <gtest/gtest.h>

#include "bench/measure/watches.hpp"

namespace convscope {
namespace {

TEST(ClockWatch, ComparesWithTheMedianOfAllReadings) {
  ClockWatch watch;
  EXPECT_FALSE(watch.is_throttled(1));
  for (double mhz : {2900, 3000, 3000, 3100}) watch.add(mhz);
  EXPECT_TRUE(watch.is_throttled(2200));
  EXPECT_FALSE(watch.is_throttled(2300));
}

TEST(ClockWatch, IsNotMisledByOneBoostedReading) {
  ClockWatch watch;
  for (int reading = 0; reading < 10; ++reading) watch.add(3000);
  watch.add(4500);
  EXPECT_FALSE(watch.is_throttled(3000));
}

}  // namespace
}  // namespace convscope
