#include "bench/runner/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/core/error.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/device/cuda/cuda.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

TEST(Devices, AreTheCpuFirstAndTheEmulatorLast) {
  const DeviceList list = find_devices();
  ASSERT_GE(list.present.size(), 2u);
  EXPECT_EQ(list.present.front().kind, DeviceKind::cpu);
  EXPECT_EQ(list.present.back().kind, DeviceKind::emulator);
}

TEST(Devices, EachIsPresentOrMissingWithItsReason) {
  const DeviceList list = find_devices();
  std::set<DeviceKind> kinds;
  for (const DeviceInfo& info : list.present) kinds.insert(info.kind);
  for (const MissingDevice& missing : list.missing) EXPECT_TRUE(kinds.insert(missing.kind).second);
  EXPECT_EQ(kinds.size(), kDeviceKinds.size());
  for (const MissingDevice& missing : list.missing) {
    EXPECT_EQ(missing.kind, DeviceKind::cuda);
    EXPECT_EQ(missing.why, "no CUDA device: " + cuda::device_defect());
  }
}

TEST(Devices, AreMadeAsTheyAreDescribed) {
  for (const DeviceInfo& info : find_devices().present) {
    const auto device = make_device(info.id(), {});
    EXPECT_EQ(device->info().id(), info.id());
    EXPECT_EQ(device->info().name, describe_device(info.id()).name);
  }
}

TEST(Devices, OneThatIsNotThereIsRefusedWithTheRuntimesWords) {
  if (cuda::device_defect().empty()) GTEST_SKIP() << "this machine has a GPU";
  const auto says_why =
      AllOf(HasSubstr("no CUDA device: " + cuda::device_defect()), HasSubstr("--device emulator"));
  EXPECT_THAT(error_of([] { make_device(DeviceKind::cuda, {}); }), says_why);
  EXPECT_THAT(error_of([] { describe_device(DeviceKind::cuda); }), says_why);
}

TEST(Devices, BeyondTheLastAreRefused) {
  const DeviceId beyond(DeviceKind::cuda, std::max(cuda::device_count(), 1));
  EXPECT_NE(error_of([&] { make_device(beyond, {}); }), "");
  EXPECT_NE(error_of([&] { describe_device(beyond); }), "");
}

TEST(Devices, MoreThreadsThanCoresAreRefused) {
  EXPECT_THAT(error_of([] { make_device(DeviceKind::cpu, {.threads = 100'000}); }), HasSubstr("cores"));
}

TEST(ThreadsOn, AreThoseAskedForOrEveryCoreOfACpuAndOneOfOtherDevices) {
  DeviceInfo cpu;
  cpu.cores = 4;
  EXPECT_EQ(threads_on(cpu, 3), 3);
  EXPECT_EQ(threads_on(cpu, 0), 4);
  EXPECT_EQ(error_of([&] { threads_on(cpu, 5); }),
            "--threads: found 5; allowed is 0 (every core) to 4, the cores of this machine");
  DeviceInfo gpu = cpu;
  gpu.kind = DeviceKind::cuda;
  for (int asked : {0, 5}) EXPECT_EQ(threads_on(gpu, asked), 1);
}

TEST(Devices, TheEmulatorRunsCudasAlgorithmsAndNoOthers) {
  AlgorithmInfo algorithm;
  algorithm.device = DeviceKind::cuda;
  EXPECT_TRUE(runs_on(algorithm, DeviceKind::emulator));
  EXPECT_TRUE(runs_on(algorithm, DeviceKind::cuda));
  EXPECT_FALSE(runs_on(algorithm, DeviceKind::cpu));
  algorithm.emulated = false;  // a library that needs the real device
  EXPECT_FALSE(runs_on(algorithm, DeviceKind::emulator));
  EXPECT_TRUE(runs_on(algorithm, DeviceKind::cuda));
  algorithm.emulated = true;
  algorithm.device = DeviceKind::cpu;
  EXPECT_FALSE(runs_on(algorithm, DeviceKind::emulator));
}

}  // namespace
}  // namespace convscope
