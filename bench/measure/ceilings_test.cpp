#include "bench/measure/ceilings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/measure/health.hpp"

namespace convscope {
namespace {

// Instrumented loops read many times slower than the C library copies.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlack = 10;
#else
constexpr double kSlack = 1;
#endif

TEST(Ceilings, ArePlausibleForThisProcessor) {
  CpuDevice device;
  const Ceilings ceilings = measure_ceilings(device, 1);
  EXPECT_EQ(ceilings.threads, 1);
  // No core does more than two multiply-adds of 16 lanes a cycle, and none has 10 GHz; loops that the
  // compiler folded do. A clock that is read here is no bound: a hypervisor may have taken the core while it
  // was.
  constexpr double clock = 10e9;
  EXPECT_LT(ceilings.fma_flops, 64 * clock);
  // A slip of units or of the count of repetitions is orders of magnitude; a busy core is one at most.
  EXPECT_GT(ceilings.fma_flops, 1e8 / kSlack);
  EXPECT_GT(ceilings.copy_bytes, 1e7 / kSlack);
  EXPECT_GT(ceilings.read_bytes, 1e7 / kSlack);
  // Memory is no faster than a private cache, and a copy, whose bytes count twice, no faster than reading.
  // The bounds are wide, since other programs may have had the core; folded loops are off by orders of
  // magnitude.
  EXPECT_LT(ceilings.read_bytes, 20 * kSlack * ceilings.cache_read_bytes);
  EXPECT_LT(ceilings.copy_bytes, 20 * kSlack * ceilings.cache_read_bytes);
  EXPECT_LT(ceilings.copy_bytes, 20 * kSlack * ceilings.read_bytes);
  EXPECT_LT(ceilings.read_bytes, 20 * kSlack * ceilings.copy_bytes);
  EXPECT_GT(ceilings.cache_read_bytes, 1e7 / kSlack);
  EXPECT_LT(ceilings.cache_read_bytes, 3 * 64 * clock);
}

TEST(CoreReading, IsPlausibleBesideTheCeilings) {
  CpuDevice device;
  for (int threads = 1; threads <= std::min(2, device.info().cores); ++threads) {
    Ceilings ceilings = measure_ceilings(device, threads);
    // Unknown where others used the cores all the while.
    for (int attempt = 0; attempt < 10 && threads > 1 && ceilings.core_to_core_latency_seconds == 0;
         ++attempt)
      ceilings = measure_ceilings(device, threads);
    if (threads > 1 && ceilings.core_to_core_latency_seconds == 0)
      GTEST_SKIP() << "other programs used the cores in each of eleven measurements";
    double rate = 0;
    for (int turn = 0; turn < 20; ++turn) {
      const CoreReading reading = read_cores();
      rate = std::max(rate, reading.multiply_add_rate);
      ASSERT_EQ(reading.core_to_core_latency_seconds.has_value(), threads > 1);
      EXPECT_GT(reading.core_to_core_latency_seconds.value_or(1), 1e-9) << "light gets 30 cm far";
    }
    // Wide, since another program may have had the cores during either; a folded loop is further off.
    EXPECT_LT(rate, 20 * ceilings.fma_flops);
    EXPECT_GT(rate, 0.02 * ceilings.fma_flops);
    EXPECT_EQ(ceilings.core_to_core_latency_seconds > 0, threads > 1);
  }
}

TEST(Clock, IsThatOfAProcessor) {
  EXPECT_GT(measured_clock_mhz(), 100);
  EXPECT_LT(measured_clock_mhz(), 10'000);
}

}  // namespace
}  // namespace convscope
