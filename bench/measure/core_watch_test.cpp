#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/measure/watches.hpp"

namespace convscope {
namespace {

// Gives one reading after the other; the last again and again.
CoreWatch::Read readings(std::vector<CoreReading> values, int* taken = nullptr) {
  return [=, next = size_t{0}]() mutable {
    if (taken != nullptr) ++*taken;
    return values.at(std::min(next++, values.size() - 1));
  };
}

CoreReading rate(double multiply_adds) {
  return {multiply_adds, std::nullopt};
}

CoreReading signal(double seconds) {
  return {1e11, seconds};
}

// As bursts on a Xeon with AMX are: one that comes after other work takes 2 us more.
TEST(AwakeBurst, LeavesOutTheTimeInWhichVectorUnitsWake) {
  using namespace std::chrono_literals;
  Clock::time_point time;
  bool is_awake = false;
  const auto multiply = [&](std::chrono::nanoseconds work) {
    time += is_awake ? work : work + 2us;
    is_awake = true;
  };
  EXPECT_DOUBLE_EQ(
      seconds_of_awake_burst([&] { multiply(2500ns); }, [&] { multiply(5us); }, [&] { return time; }), 5e-6);
}

TEST(CoreWatch, ComparesWithTheBestReading) {
  CoreWatch watch(readings({rate(100), rate(200), rate(110)}), {}, 0);
  EXPECT_EQ(watch.share(rate(50)), 1) << "nothing to compare with";
  for (double best : {100, 200, 200}) {
    ASSERT_TRUE(watch.read());
    EXPECT_EQ(watch.share(rate(100)), 100 / best);
  }
  EXPECT_TRUE(watch.is_slow(rate(130)));
  EXPECT_FALSE(watch.is_slow(rate(150)));
}

TEST(CoreWatch, ComparesSignalsWithTheShortest) {
  CoreWatch watch(readings({signal(100e-9), signal(90e-9), signal(25e-9), signal(25e-9), signal(160e-9)}), {},
                  0);
  ASSERT_TRUE(watch.read());
  EXPECT_EQ(watch.distance(signal(100e-9)), 1) << "nothing to compare with";
  for (double best : {100e-9, 90e-9, 25e-9, 25e-9}) {
    ASSERT_TRUE(watch.read());
    EXPECT_EQ(watch.distance(signal(100e-9)), 100e-9 / best);
  }
  EXPECT_TRUE(watch.is_slow(signal(60e-9)));
  EXPECT_FALSE(watch.is_slow(signal(40e-9)));
  EXPECT_FALSE(watch.is_slow(rate(1e11))) << "a single thread signals nobody";
}

TEST(CoreWatch, DoesNotTakeTwoThreadsOnOneCoreForNear) {
  CoreWatch watch(readings({{50, 25e-9}, {50, 25e-9}, {100, 60e-9}, {100, 60e-9}}), rate(100), 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(watch.read());
    EXPECT_EQ(watch.best().core_to_core_latency_seconds, std::nullopt);
  }
  ASSERT_TRUE(watch.read());
  EXPECT_EQ(watch.best().core_to_core_latency_seconds, 60e-9);
}

TEST(CoreWatch, DoesNotTakeThreadsThatComeTogetherWithinAReadingForNear) {
  CoreWatch watch(readings({{100, 60e-9}, {100, 25e-9}, {50, 25e-9}, {100, 60e-9}}), rate(100), 0);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(watch.read());
  EXPECT_EQ(watch.best().core_to_core_latency_seconds, 60e-9);
}

TEST(CoreWatch, ComparesWithWhatIsKnownFromElsewhere) {
  CoreWatch watch(readings({{100, 50e-9}}), {200, 25e-9}, 0);
  EXPECT_EQ(watch.read()->multiply_add_rate, 100);
  EXPECT_EQ(watch.share(rate(100)), 0.5);
  EXPECT_EQ(watch.distance(signal(50e-9)), 2);
}

TEST(CoreWatch, WaitsUntilTheThreadsHaveCoresOfTheirOwn) {
  int taken = 0;
  CoreWatch watch(readings({rate(100), rate(101), rate(99), rate(190), rate(100)}, &taken), rate(200), 1000);
  EXPECT_EQ(watch.wait()->multiply_add_rate, 190);
  EXPECT_EQ(taken, 4);
  EXPECT_GT(watch.waited_seconds(), 0);
}

TEST(CoreWatch, WaitsUntilTheThreadsAreNearEachOther) {
  int taken = 0;
  CoreWatch watch(readings({signal(150e-9), signal(160e-9), signal(26e-9)}, &taken), signal(25e-9), 1000);
  EXPECT_EQ(watch.wait()->core_to_core_latency_seconds, 26e-9);
  EXPECT_EQ(taken, 3);
}

TEST(CoreWatch, DoesNotWaitWithoutCause) {
  int taken = 0;
  CoreWatch watch(readings({rate(150)}, &taken), rate(200), 1000);
  EXPECT_EQ(watch.wait()->multiply_add_rate, 150);
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(watch.waited_seconds(), 0);
}

TEST(CoreWatch, EndsWhereTheThreadsStaySlow) {
  int taken = 0;
  CoreWatch watch(readings({rate(100)}, &taken), rate(200), 0.02);
  EXPECT_EQ(watch.wait()->multiply_add_rate, 100);
  EXPECT_GT(taken, 1);
  const int first = taken;
  EXPECT_EQ(watch.wait()->multiply_add_rate, 100) << "all patience is spent";
  EXPECT_EQ(taken, first + 1);
}

TEST(CoreWatch, HasNothingToSayWhereNothingIsWatched) {
  CoreWatch watch(nullptr, rate(200), 1000);
  EXPECT_FALSE(watch.read());
  EXPECT_FALSE(watch.wait());
}

}  // namespace
}  // namespace convscope
