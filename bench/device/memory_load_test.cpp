#include "bench/device/memory_load.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <thread>

#include "bench/core/error.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

class ThreadLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_.info().cores < 2) GTEST_SKIP() << "the load needs a core of its own";
  }
  std::unique_ptr<MemoryLoad> load_of(double bytes_per_second) {
    return make_memory_load({bytes_per_second, 1}, 1, device_);
  }
  // Exits with 0 where the lack is reported.
  void end_without_memory() {
    const rlimit none{1, 1};
    setrlimit(RLIMIT_AS, &none);
    try {
      load_of(1e9);
    } catch (const std::bad_alloc&) {
      _exit(0);
    }
    _exit(1);
  }
  CpuDevice device_;
};

TEST_F(ThreadLoad, CopiesWhileItIsOnAndNoFasterThanItIsToldTo) {
  const auto load = load_of(50e6);
  EXPECT_EQ(load->measured_rate(), 0);
  for (int times = 0; times < 2; ++times) {
    load->start();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    load->stop();
    const double rate = load->measured_rate();
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, 150e6) << "a chunk ahead at most";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(load->measured_rate(), rate);
  }
}

TEST_F(ThreadLoad, IsOverWhileItIsOnWithoutWaiting) {
  const auto load = load_of(1e12);
  load->start();
}

TEST_F(ThreadLoad, SaysThatThereIsNoMemoryForItsBuffersBeforeAThreadIsStarted) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need memory of their own";
  EXPECT_EXIT(end_without_memory(), ::testing::ExitedWithCode(0), "");
}

TEST_F(ThreadLoad, RefusesMoreCoresThanThereAre) {
  const int cores = device_.info().cores;
  EXPECT_THAT(
      [&] {
        make_memory_load({1e9, cores}, 1, device_);
      },
      ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr(fmt::format(
          "a load on {} threads beside 1 needs as many cores, and this process may use {}", cores, cores))));
}

}  // namespace
}  // namespace convscope
