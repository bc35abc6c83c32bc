#include "bench/step/memory_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "bench/core/error.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

DeviceInfo two_cores() {
  DeviceInfo info = describe_cpu();
  info.cores = 2;
  info.llc_bytes = 0;
  return info;
}

TEST(MemoryLoad, CopiesWhileItIsOnAndNoFasterThanItIsToldTo) {
  MemoryLoad load({50e6, 1}, 1, two_cores());
  EXPECT_EQ(load.measured_rate(), 0);
  for (int times = 0; times < 2; ++times) {
    load.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    load.stop();
    const double rate = load.measured_rate();
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, 150e6) << "a chunk ahead at most";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(load.measured_rate(), rate);
  }
}

TEST(MemoryLoad, IsOverWhileItIsOnWithoutWaiting) {
  MemoryLoad load({1e12, 1}, 1, two_cores());
  load.start();
}

TEST(MemoryLoad, RefusesMoreCoresThanThereAre) {
  EXPECT_THAT(
      [] {
        MemoryLoad({1e9, 2}, 1, two_cores());
      },
      ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr(
          "a load on 2 threads beside 1 needs as many cores, and this process may use 2")));
}

}  // namespace
}  // namespace convscope
