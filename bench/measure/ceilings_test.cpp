#include "bench/measure/ceilings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/measure/health.hpp"

namespace convscope {
namespace {

TEST(Ceilings, ArePlausibleForThisProcessor) {
  CpuDevice device;
  const Ceilings ceilings = measure_ceilings(device, 1);
  EXPECT_EQ(ceilings.threads, 1);
  double clock = 0;  // the fastest of several readings; an interrupted one is too low
  for (int reading = 0; reading < 50; ++reading) clock = std::max(clock, measured_clock_mhz() * 1e6);
  // No core does more than two multiply-adds of 16 lanes a cycle; loops that the compiler folded do, by
  // orders of magnitude. All bounds are wide: neighbours and sanitizers slow one reading and not the next.
  EXPECT_LT(ceilings.fma_flops, 10 * 64 * clock);
  EXPECT_GT(ceilings.fma_flops, 1e8);
  EXPECT_GT(ceilings.copy_bytes, 1e7);
  EXPECT_GT(ceilings.read_bytes, 1e7);
  // Memory is no faster than a private cache, and a copy, whose bytes count twice, no faster than reading.
  EXPECT_LT(ceilings.read_bytes, 30 * ceilings.cache_read_bytes);
  EXPECT_LT(ceilings.copy_bytes, 30 * ceilings.cache_read_bytes);
  EXPECT_LT(ceilings.copy_bytes, 30 * ceilings.read_bytes);
  EXPECT_LT(ceilings.read_bytes, 30 * ceilings.copy_bytes);
  EXPECT_GT(ceilings.cache_read_bytes, 1e7);
  EXPECT_LT(ceilings.cache_read_bytes, 10 * 3 * 64 * clock);
}

TEST(Clock, IsThatOfAProcessor) {
  EXPECT_GT(measured_clock_mhz(), 100);
  EXPECT_LT(measured_clock_mhz(), 10'000);
}

}  // namespace
}  // namespace convscope
