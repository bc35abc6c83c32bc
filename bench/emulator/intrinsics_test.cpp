// The device functions of kernel.hpp for tensor cores and copies do what plain arithmetic says, on every
// device there is.
#include "bench/emulator/test_kernels/intrinsics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/device/device_error.hpp"
#include "bench/emulator/kernel_test.hpp"

namespace convscope {
namespace {

class Intrinsics : public KernelTest {
 protected:
  IntrinsicKernels kernels_ = CONVSCOPE_BUILDS(intrinsic_kernels).of(GetParam().kind())();
};

TEST_P(Intrinsics, MultiplyATileOfEachElementType) {
  for (const TensorElement element : {TensorElement::tf32, TensorElement::f16, TensorElement::bf16}) {
    const size_t depth = element == TensorElement::tf32 ? 8 : 16;
    const std::vector<float> a = whole_numbers(16 * depth, 1), b = whole_numbers(depth * 8, 2),
                             c = whole_numbers(16 * 8, 3);
    std::vector<float> expected = c;
    for (size_t row = 0; row < 16; ++row)
      for (size_t column = 0; column < 8; ++column)
        for (size_t k = 0; k < depth; ++k)
          expected[row * 8 + column] += a[row * depth + k] * b[k * 8 + column];
    const Buffer on_a = to_device(a), on_b = to_device(b), on_c = to_device(c), d = floats(16 * 8);
    kernels_.multiply(element, on_a.as<float>(), on_b.as<float>(), on_c.as<float>(), d.as<float>(), *queue_);
    EXPECT_EQ(to_host<float>(d), expected);
  }
}

TEST_P(Intrinsics, LoadMatricesByRowsAndByColumns) {
  std::vector<uint16_t> from(4 * 64);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint16_t>(i * 257);
  const Buffer on_from = to_device(from), to = floats(4 * 32);
  for (const bool transposed : {false, true}) {
    kernels_.load_matrices(transposed, on_from.as<uint16_t>(), to.as<uint32_t>(), *queue_);
    std::vector<uint32_t> expected;
    for (size_t matrix = 0; matrix < 4; ++matrix)
      for (size_t lane = 0; lane < 32; ++lane) {
        const size_t g = lane / 4, t = lane % 4;
        const auto at = [&](size_t e) -> uint32_t {
          return from[matrix * 64 + (transposed ? (2 * t + e) * 8 + g : g * 8 + 2 * t + e)];
        };
        expected.push_back(at(0) | at(1) << 16);
      }
    EXPECT_EQ(to_host<uint32_t>(to), expected);
  }
}

TEST_P(Intrinsics, CopyTheValidBytesAndZeroTheRest) {
  for (const int bytes : {4, 8, 16})
    for (int valid = 0; valid <= bytes; valid += 4) {
      const auto words = static_cast<size_t>(bytes / 4);
      const std::vector<float> from = whole_numbers(32 * words, 5);
      std::vector<float> expected = from;
      for (size_t i = 0; i < expected.size(); ++i)
        if (i % words * 4 >= static_cast<size_t>(valid)) expected[i] = 0;
      const Buffer on_from = to_device(from), to = floats(32 * words);
      kernels_.copy(bytes, valid, on_from.as<float>(), to.as<float>(), *queue_);
      EXPECT_EQ(to_host<float>(to), expected) << bytes << " bytes, " << valid << " valid";
    }
}

TEST_P(Intrinsics, WaitForTheOlderGroupsOnly) {
  const std::vector<float> from = whole_numbers(64, 6);
  const Buffer on_from = to_device(from), to = floats(64);
  kernels_.copy_and_wait_for_one(on_from.as<float>(), to.as<float>(), *queue_);
  const std::vector<float> out = to_host<float>(to);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + 32, from.begin()));
  if (GetParam().is_gpu) return;  // where the newer group may have come too
  EXPECT_TRUE(std::all_of(out.begin() + 32, out.end(), [](float x) { return std::isnan(x); }));
}

TEST_P(Intrinsics, RoundToTf32ToNearestTiesAway) {
  const float unit = 1.0f / 1024, nan = std::nanf("");
  const std::vector<float> from{
      1.0f,       1 + unit, 1 + unit / 2, 1 + unit * 0.499f, -1 - unit / 2, 1 + unit * 1.5f, 65.3f, HUGE_VALF,
      -HUGE_VALF, 0.0f,     nan};
  const Buffer on_from = to_device(from), to = floats(from.size());
  kernels_.round_to_tf32(on_from.as<float>(), to.as<float>(), static_cast<int>(from.size()), *queue_);
  const std::vector<float> out = to_host<float>(to);
  EXPECT_THAT(std::vector<float>(out.begin(), out.begin() + 6),
              ::testing::ElementsAre(1.0f, 1 + unit, 1 + unit, 1.0f, -1 - unit, 1 + 2 * unit));
  EXPECT_NEAR(out[6], 65.3f, 65.3f / 2048);
  EXPECT_EQ(out[7], HUGE_VALF);
  EXPECT_EQ(out[8], -HUGE_VALF);
  EXPECT_EQ(out[9], 0.0f);
  EXPECT_TRUE(std::isnan(out[10]));
}

TEST_P(Intrinsics, KeepTwoNamedBarriersApart) {
  const Buffer out = floats(128);
  kernels_.named_barriers(out.as<float>(), *queue_);
  std::vector<float> expected(128);
  for (size_t i = 0; i < 128; ++i) expected[i] = static_cast<float>(i / 64 * 64 + (i % 64 + 21) % 64);
  EXPECT_EQ(to_host<float>(out), expected);
}

TEST_P(Intrinsics, ReportAMisalignedCopy) {
  if (GetParam().is_gpu) GTEST_SKIP() << "the GPU would be lost to the tests behind this one";
  const Buffer from = floats(256), to = floats(256);
  try {
    kernels_.copy_misaligned(from.as<float>(), to.as<float>(), *queue_);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("not a multiple of 16"),
                                               ::testing::HasSubstr("test_kernels/intrinsics.cu:")));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Intrinsics, ::testing::ValuesIn(test_devices()), device_name);

}  // namespace
}  // namespace convscope
