#include "bench/measure/ceilings.hpp"

#include <gtest/gtest.h>

#include "bench/measure/health.hpp"

namespace convscope {
namespace {

TEST(Ceilings, ArePlausibleForThisProcessor) {
  CpuDevice device;
  const Ceilings ceilings = measure_ceilings(device, 1);
  EXPECT_EQ(ceilings.threads, 1);
  // No core does more than two multiply-adds of 16 lanes a cycle today; a loop that the compiler folded
  // would. A clock read while another process interrupts is too low by half at times.
  EXPECT_LT(ceilings.fma_flops, 2 * 64 * measured_clock_mhz() * 1e6);
  EXPECT_GT(ceilings.fma_flops, 1e8);
  EXPECT_GT(ceilings.copy_bytes, 1e7);
  EXPECT_GT(ceilings.read_bytes, 1e7);
  EXPECT_GT(ceilings.cache_read_bytes, 1e7);
  EXPECT_LT(ceilings.cache_read_bytes, 4 * 64 * measured_clock_mhz() * 1e6);
}

TEST(Clock, IsThatOfAProcessor) {
  EXPECT_GT(measured_clock_mhz(), 100);
  EXPECT_LT(measured_clock_mhz(), 10'000);
}

}  // namespace
}  // namespace convscope
