#include "algorithms/common/compute_capability.hpp"

#include <gtest/gtest.h>

namespace convscope {
namespace {

DeviceInfo gpu(const char* instructions) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.instructions = instructions;
  return device;
}

TEST(ComputeCapability, IsThatOfTheGpuAndWithoutLimitElsewhere) {
  EXPECT_EQ(compute_capability(gpu("sm_80")), 80);
  EXPECT_EQ(compute_capability(gpu("sm_120")), 120);
  EXPECT_GT(compute_capability(DeviceInfo{}), 1000);
}

TEST(ComputeCapability, CodeOfSm90aRunsOnThatGpuAloneAndOnlyWhereItWasCompiled) {
  EXPECT_TRUE(runs_sm_90a(gpu("sm_90"), true));
  EXPECT_FALSE(runs_sm_90a(gpu("sm_90"), false));
  for (const char* other : {"sm_80", "sm_89", "sm_100", "sm_120"})
    EXPECT_FALSE(runs_sm_90a(gpu(other), true));
  EXPECT_TRUE(runs_sm_90a(DeviceInfo{}, false));  // the emulator runs the sources
}

}  // namespace
}  // namespace convscope
