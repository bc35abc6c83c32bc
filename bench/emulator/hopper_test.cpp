// TMA, mbarriers and wgmma of hopper.hpp do what plain arithmetic says, and misuse is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "bench/device/device_error.hpp"
#include "bench/emulator/half.hpp"
#include "bench/emulator/hopper_fixture.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TmaElement kTmaElements[] = {TmaElement::f32, TmaElement::tf32, TmaElement::f16, TmaElement::bf16};

// A tensor of 64 bytes in dimension 0 and 1 element in the others; boxes of 32 bytes.
TensorMapLayout line_of_64_bytes(TmaElement element, int rank, const Buffer& tensor) {
  TensorMapLayout layout;
  layout.element = element;
  layout.swizzle = TmaSwizzle::none;
  layout.base = tensor.data();
  layout.rank = rank;
  layout.size[0] = static_cast<uint64_t>(64 / bytes_of(element));
  layout.box[0] = static_cast<uint32_t>(32 / bytes_of(element));
  for (uint64_t& stride : layout.stride_bytes) stride = 64;
  return layout;
}

class Hopper : public HopperTest {
 protected:
  // values as the element type stores them
  Buffer to_elements(TensorElement element, const std::vector<float>& values) {
    if (element == TensorElement::tf32) return to_device(values);
    std::vector<uint16_t> bits;
    for (const float value : values)
      bits.push_back(element == TensorElement::f16 ? emulated::__half(value).bits
                                                   : emulated::__nv_bfloat16(value).bits);
    return to_device(bits);
  }
  std::vector<float> product_of(TensorElement element, int columns, int m, int n, int k, HopperFault fault) {
    const std::vector<float> a = whole_numbers(static_cast<size_t>(m * k), 1);
    const std::vector<float> b = whole_numbers(static_cast<size_t>(n * k), 2);
    const Buffer on_a = to_elements(element, a), on_b = to_elements(element, b),
                 c = floats(static_cast<size_t>(m * n));
    kernels_.multiply(element, columns, fault, on_a.data(), on_b.data(), c.as<float>(), m, n, k, *queue_);
    return to_host<float>(c);
  }
  static std::vector<float> expected_product(int m, int n, int k) {
    const std::vector<float> a = whole_numbers(static_cast<size_t>(m * k), 1);
    const std::vector<float> b = whole_numbers(static_cast<size_t>(n * k), 2);
    std::vector<float> c;
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        float sum = 0;
        for (int i = 0; i < k; ++i)
          sum += a[static_cast<size_t>(row * k + i)] * b[static_cast<size_t>(column * k + i)];
        c.push_back(sum);
      }
    return c;
  }
  // The transposed matrix: of `lines` rows of `width` elements.
  static std::vector<float> transposed(const std::vector<float>& matrix, int lines, int width) {
    std::vector<float> out(matrix.size());
    for (int line = 0; line < lines; ++line)
      for (int i = 0; i < width; ++i)
        out[static_cast<size_t>(i * lines + line)] = matrix[static_cast<size_t>(line * width + i)];
    return out;
  }
  std::vector<float> transposed_product_of(TensorElement element, int columns, int m, int n, int k) {
    const Buffer a = to_elements(element, transposed(whole_numbers(static_cast<size_t>(m * k), 1), m, k));
    const Buffer b = to_elements(element, transposed(whole_numbers(static_cast<size_t>(n * k), 2), n, k));
    const Buffer c = floats(static_cast<size_t>(m * n));
    kernels_.multiply_transposed(element, columns, a.data(), b.data(), c.as<float>(), m, n, k, *queue_);
    return to_host<float>(c);
  }
  std::string error_of(HopperFault fault) {
    try {
      product_of(TensorElement::bf16, 64, 64, 64, 512, fault);
      return "";
    } catch (const DeviceError& error) {
      return error.what();
    }
  }
};

TEST_P(Hopper, MultiplyOnWgmmaOfEachTypeAndWidth) {
  for (const TensorElement element : {TensorElement::tf32, TensorElement::f16, TensorElement::bf16})
    for (const int columns : {64, 96, 128, 192}) {
      EXPECT_EQ(product_of(element, columns, 64, 128, 64, HopperFault::none), expected_product(64, 128, 64));
      EXPECT_EQ(product_of(element, columns, 100, 72, 264, HopperFault::none),
                expected_product(100, 72, 264));
    }
}

// Both operands lie with their rows, not with the depth, innermost.
TEST_P(Hopper, MultiplyOnWgmmaOfOperandsThatLieTurned) {
  for (const TensorElement element : {TensorElement::f16, TensorElement::bf16})
    for (const int columns : {64, 128}) {
      EXPECT_EQ(transposed_product_of(element, columns, 64, 128, 64), expected_product(64, 128, 64));
      EXPECT_EQ(transposed_product_of(element, columns, 104, 72, 263), expected_product(104, 72, 263));
    }
}

TEST_P(Hopper, LoadABoxOfTwoDimensionsWithZerosOutside) {
  std::vector<float> tensor(5 * 8);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i + 1);
  const Buffer on_tensor = to_device(tensor), to = floats(8 * 3);
  TensorMapLayout layout;
  layout.swizzle = TmaSwizzle::none;
  layout.base = on_tensor.data();
  layout.size[0] = 8, layout.size[1] = 5;
  layout.stride_bytes[0] = 8 * sizeof(float);
  layout.box[0] = 8, layout.box[1] = 3;
  kernels_.load_box(layout, {4, 3, 0, 0}, to.data(), to.bytes(), *queue_);
  EXPECT_THAT(to_host<float>(to), ElementsAre(29, 30, 31, 32, 0, 0, 0, 0,  //
                                              37, 38, 39, 40, 0, 0, 0, 0,  //
                                              0, 0, 0, 0, 0, 0, 0, 0));
  kernels_.load_box(layout, {-4, -1, 0, 0}, to.data(), to.bytes(), *queue_);
  EXPECT_THAT(to_host<float>(to), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0,  //
                                              0, 0, 0, 0, 1, 2, 3, 4,  //
                                              0, 0, 0, 0, 9, 10, 11, 12));
}

// 16 bytes at a time, from outside the tensor to outside it.
TEST_P(Hopper, StartABoxAtEveryMultipleOf16BytesInEachTypeAndRank) {
  const std::vector<float> tensor = whole_numbers(16, 5);
  const Buffer on_tensor = to_device(tensor), to = floats(8);
  for (const TmaElement element : kTmaElements)
    for (const int rank : {2, 4, 5})
      for (int chunk = -2; chunk <= 4; ++chunk) {
        std::vector<float> expected(8);
        for (int i = 0; i < 8; ++i)
          if (const int from = 4 * chunk + i; from >= 0 && from < 16)
            expected[static_cast<size_t>(i)] = tensor[static_cast<size_t>(from)];
        kernels_.load_box(line_of_64_bytes(element, rank, on_tensor), {chunk * 16 / bytes_of(element)},
                          to.data(), to.bytes(), *queue_);
        EXPECT_EQ(to_host<float>(to), expected) << "16 bytes times " << chunk << ", rank " << rank;
      }
}

TEST_P(Hopper, SwizzleTheRowsOfABox) {
  std::vector<float> tensor(16 * 32);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i);
  const Buffer on_tensor = to_device(tensor), to = floats(16 * 32);
  TensorMapLayout layout;
  layout.base = on_tensor.data();
  layout.size[0] = 32, layout.size[1] = 16;
  layout.stride_bytes[0] = 128;
  layout.box[0] = 32, layout.box[1] = 16;
  kernels_.load_box(layout, {0, 0, 0, 0}, to.data(), to.bytes(), *queue_);
  const std::vector<float> out = to_host<float>(to);
  for (size_t row = 0; row < 16; ++row)
    for (size_t column = 0; column < 32; ++column)  // chunks of 4 floats change places by the row
      EXPECT_EQ(out[row * 32 + ((column / 4) ^ (row % 8)) * 4 + column % 4], tensor[row * 32 + column]);
}

// Triton's pull request 11751 describes it for sm_120: to nearest, ties to even, infinity and NaN as they
// are.
TEST_P(Hopper, RoundTf32AsABoxLands) {
  const std::vector<uint32_t> tensor{0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000, 0xbf801000, 0xbf803000,
                                     0x3fffffff, 0x7f7fffff, 0x00001001, 0x80000000, 0x7f800000, 0xff800000};
  const std::vector<uint32_t> rounded{0x3f800000, 0x3f800000, 0x3f802000, 0x3f804000, 0xbf800000, 0xbf804000,
                                      0x40000000, 0x7f800000, 0x00002000, 0x80000000, 0x7f800000, 0xff800000};
  const auto landed = [&](TmaElement element, const std::vector<uint32_t>& from) {
    const Buffer on_from = to_device(from), to = floats(12);
    TensorMapLayout layout;
    layout.element = element;
    layout.swizzle = TmaSwizzle::none;
    layout.base = on_from.data();
    layout.size[0] = 12;
    layout.stride_bytes[0] = 48;
    layout.box[0] = 12;
    kernels_.load_box(layout, {0, 0, 0, 0}, to.data(), to.bytes(), *queue_);
    return to_host<uint32_t>(to);
  };
  EXPECT_EQ(landed(TmaElement::f32, tensor), tensor);
  EXPECT_EQ(landed(TmaElement::tf32, tensor), rounded);
  for (const uint32_t nan : {0x7fc00000u, 0xffffffffu, 0x7fffe000u})
    for (const uint32_t bits : landed(TmaElement::tf32, std::vector<uint32_t>(12, nan)))
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits))) << nan;
}

// An NHWC tensor with a stride of 2 and padding: how an implicit GEMM reads its input.
TEST_P(Hopper, LoadABoxOfFourDimensionsWithSteps) {
  constexpr int images = 2, height = 5, width = 6, channels = 4;
  std::vector<float> tensor(size_t{images} * height * width * channels);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i + 1);
  TensorMapLayout layout;
  const Buffer on_tensor = to_device(tensor), to = floats(2 * 2 * 3 * 4);
  layout.swizzle = TmaSwizzle::none;
  layout.base = on_tensor.data();
  layout.rank = 4;
  const uint64_t sizes[4] = {channels, width, height, images};
  const uint32_t box[4] = {4, 6, 4, 2}, step[4] = {1, 2, 2, 1};
  uint64_t stride = sizeof(float);
  for (int d = 0; d < 4; ++d) {
    layout.size[d] = sizes[d], layout.box[d] = box[d], layout.step[d] = step[d];
    if (d > 0) layout.stride_bytes[d - 1] = stride;
    stride *= sizes[d];
  }
  kernels_.load_box(layout, {0, -1, -1, 0}, to.data(), to.bytes(), *queue_);
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n)
    for (int y = -1; y < 3; y += 2)
      for (int x = -1; x < 5; x += 2)
        for (int c = 0; c < 4; ++c)
          expected.push_back(
              y < 0 || x < 0 ? 0.0f
                             : tensor[static_cast<size_t>(((n * height + y) * width + x) * channels + c)]);
  EXPECT_EQ(to_host<float>(to), expected);
}

// The second of three groups of channels in a box that is wider than the group: zeros, not the next group.
TEST_P(Hopper, LoadABoxOfFiveDimensions) {
  constexpr int groups = 3, channels = 4, width = 2, height = 3, images = 2;
  std::vector<float> tensor(size_t{images} * height * width * groups * channels);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i + 1);
  TensorMapLayout layout;
  const Buffer on_tensor = to_device(tensor), to = floats(2 * 2 * 2 * 8);
  layout.swizzle = TmaSwizzle::none;
  layout.base = on_tensor.data();
  layout.rank = 5;
  const uint64_t sizes[5] = {channels, groups, width, height, images};
  const uint32_t box[5] = {8, 1, 2, 2, 2};
  uint64_t stride = sizeof(float);
  for (int d = 0; d < 5; ++d) {
    layout.size[d] = sizes[d], layout.box[d] = box[d];
    if (d > 0) layout.stride_bytes[d - 1] = stride;
    stride *= sizes[d];
  }
  kernels_.load_box(layout, {0, 1, 1, 1, 1}, to.data(), to.bytes(), *queue_);
  std::vector<float> expected;
  for (int n = 1; n < 3; ++n)
    for (int y = 1; y < 3; ++y)
      for (int x = 1; x < 3; ++x)
        for (int c = 0; c < 8; ++c)
          expected.push_back(n >= images || x >= width || c >= channels
                                 ? 0.0f
                                 : tensor[static_cast<size_t>(
                                       (((n * height + y) * width + x) * groups + 1) * channels + c)]);
  EXPECT_EQ(to_host<float>(to), expected);
}

// Three pixels of 4 channels in a line, and a line for each pixel: how few channels fill a row of 128 bytes.
TEST_P(Hopper, LoadABoxOfLinesThatOverlap) {
  const std::vector<float> tensor = whole_numbers(2 * 9 * 4, 7);
  const Buffer on_tensor = to_device(tensor), to = floats(2 * 8 * 32);
  TensorMapLayout layout;
  layout.base = on_tensor.data();
  layout.rank = 4;
  layout.size[0] = 12, layout.size[1] = 7, layout.size[2] = 2;
  layout.stride_bytes[0] = 16, layout.stride_bytes[1] = layout.stride_bytes[2] = 9 * 16;
  layout.box[0] = 32, layout.box[1] = 8, layout.box[2] = 2;
  kernels_.load_box(layout, {0, 0, 0, 0}, to.data(), to.bytes(), *queue_);
  const std::vector<float> out = to_host<float>(to);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t row = i / 256, line = i / 32 % 8, column = (i / 4 % 8 ^ line) * 4 + i % 4;
    EXPECT_EQ(out[i], column < 12 && line < 7 ? tensor[row * 36 + line * 4 + column] : 0) << i;
  }
}

TEST_P(Hopper, RefuseLayoutsThatTheDriverRefuses) {
  const Buffer tensor = floats(1024), to = floats(1024);
  TensorMapLayout good;
  good.base = tensor.data();
  good.size[0] = 32, good.size[1] = 8, good.stride_bytes[0] = 128, good.box[0] = 32, good.box[1] = 8;
  const auto refused = [&](auto change) {
    TensorMapLayout layout = good;
    change(layout);
    EXPECT_THROW(kernels_.load_box(layout, {0, 0, 0, 0}, to.data(), 1024, *queue_), DeviceError);
  };
  EXPECT_NO_THROW(kernels_.load_box(good, {0, 0, 0, 0}, to.data(), 1024, *queue_));
  refused([](TensorMapLayout& layout) { layout.base = static_cast<const float*>(layout.base) + 1; });
  refused([](TensorMapLayout& layout) { layout.stride_bytes[0] = 132; });
  refused([](TensorMapLayout& layout) { layout.box[1] = 257; });
  refused([](TensorMapLayout& layout) { layout.box[0] = 64; });
  refused([](TensorMapLayout& layout) { layout.step[1] = 9; });
}

class HopperMisuse : public Hopper {};

TEST_P(HopperMisuse, OfBarriersIsReported) {
  EXPECT_THAT(error_of(HopperFault::no_barrier_fence), HasSubstr("without mbarrier_fence_init()"));
  EXPECT_THAT(error_of(HopperFault::no_barrier_init), HasSubstr("before mbarrier_init()"));
  EXPECT_THAT(error_of(HopperFault::one_arrival_too_many), HasSubstr("more arrivals than its 1"));
  EXPECT_NE(error_of(HopperFault::too_few_bytes_expected), "");
  EXPECT_THAT(error_of(HopperFault::misaligned_box), HasSubstr("misaligned"));
  EXPECT_THAT(error_of(HopperFault::misaligned_box), HasSubstr("test_kernels/hopper.cu:"));
}

// An H100 stops at such a load with an illegal instruction.
TEST_P(HopperMisuse, OfCoordinatesThatAreNoMultipleOf16BytesIsReported) {
  const Buffer tensor = floats(16), to = floats(8);
  const auto error_at = [&](TmaElement element, int rank, int x) -> std::string {
    try {
      kernels_.load_box(line_of_64_bytes(element, rank, tensor), {x}, to.data(), to.bytes(), *queue_);
      queue_->synchronize();
      return "";
    } catch (const DeviceError& error) {
      return error.what();
    }
  };
  for (const TmaElement element : kTmaElements)
    for (const int rank : {2, 4, 5})
      for (const int x : {-2, -1, 1, 2, 6, 1001})
        EXPECT_THAT(
            error_at(element, rank, x),
            HasSubstr("coordinate " + std::to_string(x) + " of dimension 0, " +
                      std::to_string(x * bytes_of(element)) + " bytes, which is not a multiple of 16"))
            << "rank " << rank;
  EXPECT_EQ(error_at(TmaElement::f32, 2, 4), "");
  EXPECT_THAT(error_at(TmaElement::f16, 2, 4), HasSubstr("test_kernels/hopper.cu:"));
}

TEST_P(HopperMisuse, OfProductsIsReportedOrShows) {
  EXPECT_EQ(error_of(HopperFault::none), "");
  EXPECT_THAT(error_of(HopperFault::no_product_fence), HasSubstr("without wgmma_fence()"));
  EXPECT_THAT(error_of(HopperFault::no_swizzle), HasSubstr("none of a 128-byte swizzle"));
  const std::vector<float> expected = expected_product(64, 64, 512);
  for (const HopperFault fault : {HopperFault::no_product_wait, HopperFault::no_product_commit})
    EXPECT_NE(product_of(TensorElement::bf16, 64, 64, 64, 512, fault), expected);
}

INSTANTIATE_TEST_SUITE_P(Devices, Hopper, ::testing::ValuesIn(test_devices()), device_name);
INSTANTIATE_TEST_SUITE_P(Devices, HopperMisuse, ::testing::ValuesIn(emulators()), device_name);

}  // namespace
}  // namespace convscope
