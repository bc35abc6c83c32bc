#include "bench/measure/tensor_copies.hpp"

#include <gtest/gtest.h>

#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

TEST(ColdCopies, AreTwiceTheLastLevelCacheAtLeastTwoAndAQuarterOfMemory) {
  DeviceInfo device;
  device.llc_bytes = 100;
  device.memory_bytes = 4000;
  EXPECT_EQ(cold_copies(10, device), 20);
  EXPECT_EQ(cold_copies(30, device), 7);
  EXPECT_EQ(cold_copies(400, device), 2);
  EXPECT_EQ(cold_copies(600, device), 1);
  EXPECT_EQ(cold_copies(5000, device), 1);
}

TEST(CopiedBytes, AreThoseOfTheTensorsThatTheStateRotates) {
  DeviceInfo device;
  device.llc_bytes = 1 << 20;
  device.memory_bytes = 1 << 30;
  const ConvProblem problem = parse_problem("n=1 c=16 hw=16 k=16 rs=3x3 pad=1");
  const int64_t image = problem.bytes(Role::input), filter = problem.bytes(Role::filter);
  ASSERT_EQ(problem.bytes(Role::output), image);
  EXPECT_EQ(copied_bytes(problem, CacheState::hot, device), 2 * image + filter);
  EXPECT_EQ(copied_bytes(problem, CacheState::cold, device),
            cold_copies(2 * image + filter, device) * (2 * image + filter));
  EXPECT_EQ(copied_bytes(problem, CacheState::weights_cold, device),
            2 * image + cold_copies(filter, device) * filter);
}

TEST(TensorCopies, HoldTheSameDataWithoutZeros) {
  CpuDevice device;
  const ConvProblem problem = parse_problem("n=1 c=16 hw=32 k=8 rs=3x3");
  TensorCopies copies(problem, device, CacheState::cold, 3);
  ASSERT_GT(copies.count(), 2);
  const ConvArgs first = copies.next(nullptr), second = copies.next(nullptr);
  const auto *a = static_cast<const float*>(first.input), *b = static_cast<const float*>(second.input);
  ASSERT_NE(a, b);
  int zeros = 0;
  for (int64_t i = 0; i < problem.elements(Role::input); ++i) {
    ASSERT_EQ(a[i], b[i]);
    zeros += a[i] == 0;
  }
  EXPECT_LE(zeros, 1);
  for (int64_t turn = 2; turn < copies.count(); ++turn) copies.next(nullptr);
  EXPECT_EQ(copies.next(nullptr).input, first.input) << "starts over";
}

TEST(TensorCopies, AllStartOn256Bytes) {
  CpuDevice device;
  // 3 x 25, 5 x 27 and 5 x 9 values, none of them a multiple of 64.
  TensorCopies copies(parse_problem("n=1 c=3 hw=5 k=5 rs=3x3"), device, CacheState::cold, 3);
  ASSERT_GT(copies.count(), 2);
  for (int64_t turn = 0; turn < copies.count(); ++turn) {
    const ConvArgs args = copies.next(nullptr);
    for (const void* tensor : {args.input, args.filter, args.output})
      ASSERT_EQ(reinterpret_cast<uintptr_t>(tensor) % 256, 0u);
  }
}

}  // namespace
}  // namespace convscope
