// What the project tells cuTensorMapEncodeTiled, read back by a decoder of its own, after the CUDA driver
// API's description of that function and the PTX ISA's of tensor copies, and walked element by element: it
// brings the same bytes to shared memory as the emulator's TMA.
#if defined(CONVSCOPE_HAS_CUDA)

#include "bench/device/cuda/tensor_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/device/device_error.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/test_kernels/hopper.hpp"

namespace convscope {
namespace {

// The arguments, as the stand-in for the driver stores them in the 128 bytes of a map.
struct Arguments {
  uint64_t base, size[5], stride[4];
  uint32_t box[5], step[5];
  uint8_t type, rank, interleave, swizzle, promotion, fill;
};
static_assert(sizeof(Arguments) <= sizeof(CUtensorMap));

CUresult record(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                const cuuint32_t* step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  Arguments all{};
  all.base = reinterpret_cast<uint64_t>(base);
  for (cuuint32_t d = 0; d < rank; ++d) {
    all.size[d] = size[d], all.box[d] = box[d], all.step[d] = step[d];
    if (d > 0) all.stride[d - 1] = stride[d - 1];
  }
  all.type = static_cast<uint8_t>(type), all.rank = static_cast<uint8_t>(rank);
  all.interleave = static_cast<uint8_t>(interleave), all.swizzle = static_cast<uint8_t>(swizzle);
  all.promotion = static_cast<uint8_t>(promotion), all.fill = static_cast<uint8_t>(fill);
  std::memcpy(map, &all, sizeof(all));
  return CUDA_SUCCESS;
}

Arguments decoded(const CUtensorMap& map) {
  Arguments all;
  std::memcpy(&all, &map, sizeof(all));
  return all;
}

// The 16-bit words of the box at `at`, in the order of shared memory.
std::vector<uint16_t> words_of_box(const Arguments& map, const int (&at)[5]) {
  const bool wide = map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  EXPECT_TRUE(wide || map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ||
              map.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(map.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);  // zeros
  const size_t element = wide ? 2 : 1;                     // words
  uint32_t count[5] = {1, 1, 1, 1, 1};
  for (int d = 0; d < map.rank; ++d) count[d] = (map.box[d] + map.step[d] - 1) / map.step[d];
  const size_t all = size_t{count[0]} * count[1] * count[2] * count[3] * count[4];
  std::vector<uint16_t> words(all * element);
  for (size_t i = 0; i < all; ++i) {
    size_t rest = i;
    uint64_t from = map.base;
    bool inside = true;
    for (int d = 0; d < map.rank; ++d) {
      const int64_t index = at[d] + static_cast<int64_t>(rest % count[d] * map.step[d]);
      rest /= count[d];
      inside = inside && index >= 0 && static_cast<uint64_t>(index) < map.size[d];
      const uint64_t stride = d == 0 ? 2 * element : map.stride[d - 1];
      if (inside) from += static_cast<uint64_t>(index) * stride;
    }
    // CU_TENSOR_MAP_SWIZZLE_128B: the 16-byte chunk in a line of 128 bytes, xor the line's number modulo 8.
    size_t to = i * element;
    if (map.swizzle == CU_TENSOR_MAP_SWIZZLE_128B) {
      const size_t line = to / 64, chunk = to / 8 % 8;
      to = line * 64 + (chunk ^ line % 8) * 8 + to % 8;
    }
    if (inside) std::memcpy(&words[to], reinterpret_cast<const void*>(from), 2 * element);
  }
  return words;
}

class TensorMap : public ::testing::Test {
 protected:
  TensorMap() : queue_(device_.make_queue()) {}

  // A dense tensor of that element and of these sizes, dimension 0 padded to a multiple of 16 bytes.
  TensorMapLayout layout_of(TmaElement element, std::vector<uint32_t> size, std::vector<uint32_t> box,
                            std::vector<uint32_t> step, TmaSwizzle swizzle) {
    TensorMapLayout layout;
    const uint32_t bytes = element == TmaElement::f32 || element == TmaElement::tf32 ? 4 : 2;
    layout.element = element, layout.swizzle = swizzle, layout.rank = static_cast<int>(size.size());
    uint64_t stride = (uint64_t{size[0]} * bytes + 15) / 16 * 16;
    for (size_t d = 0; d < size.size(); ++d) {
      layout.size[d] = size[d], layout.box[d] = box[d], layout.step[d] = step[d];
      if (d == 0) continue;
      layout.stride_bytes[d - 1] = stride;
      stride *= size[d];
    }
    std::vector<uint16_t> values(stride / 2);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(0x3c00 + i % 0x3000);
    tensor_ = std::make_unique<Buffer>(device_, stride);
    tensor_->upload(values.data(), stride);
    layout.base = tensor_->data();
    return layout;
  }

  void expect_the_same(const TensorMapLayout& layout, const int (&at)[5]) {
    const Arguments map = decoded(cuda::encode_tensor_map(layout, record));
    EXPECT_EQ(map.base, reinterpret_cast<uint64_t>(layout.base));
    EXPECT_EQ(map.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    const std::vector<uint16_t> expected = words_of_box(map, at);
    Buffer to(device_, expected.size() * 2);
    emulated::hopper_kernels().load_box(layout, at, to.data(), to.bytes(), *queue_);
    queue_->synchronize();
    std::vector<uint16_t> landed(expected.size());
    to.download(landed.data(), to.bytes());
    EXPECT_EQ(landed, expected);
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Buffer> tensor_;
};

TEST_F(TensorMap, OfAMatrixBringsWhatTheEmulatorBrings) {
  for (const TmaElement element : {TmaElement::f32, TmaElement::f16, TmaElement::bf16}) {
    const uint32_t line = element == TmaElement::f32 ? 32 : 64;
    const TensorMapLayout plain = layout_of(element, {48, 11}, {16, 5}, {1, 1}, TmaSwizzle::none);
    for (const auto& [x, y] : {std::pair{-8, -3}, {0, 0}, {8, 4}, {40, 9}, {40, 20}})
      expect_the_same(plain, {x, y, 0, 0, 0});
    const TensorMapLayout swizzled =
        layout_of(element, {2 * line + 8, 30}, {line, 24}, {1, 1}, TmaSwizzle::bytes_128);
    for (const int y : {-3, 0, 9}) expect_the_same(swizzled, {static_cast<int>(line), y, 0, 0, 0});
  }
}

// As boxed_product.hpp and boxed_gradient.hpp make them: channels, groups, columns, rows, images with a
// stride; channels, taps, filters, groups.
TEST_F(TensorMap, OfAnImageBringsWhatTheEmulatorBrings) {
  const TensorMapLayout image =
      layout_of(TmaElement::bf16, {24, 2, 9, 7, 3}, {64, 1, 8, 6, 2}, {1, 1, 2, 2, 1}, TmaSwizzle::bytes_128);
  for (const int image_number : {0, 1, 2})
    for (const int corner : {-2, -1, 0, 3, 8})
      expect_the_same(image, {0, 1, corner, corner - 1, image_number});
  const TensorMapLayout filter =
      layout_of(TmaElement::f32, {40, 9, 10, 2}, {32, 1, 16, 1}, {1, 1, 1, 1}, TmaSwizzle::bytes_128);
  for (const int tap : {0, 4, 8}) expect_the_same(filter, {32, tap, 4, 1, 0});
}

TEST_F(TensorMap, NamesTheElementsThatTmaRounds) {
  const auto type = [&](TmaElement element) {
    return decoded(cuda::encode_tensor_map(layout_of(element, {32, 8}, {32, 8}, {1, 1}, TmaSwizzle::none),
                                           record))
        .type;
  };
  EXPECT_EQ(type(TmaElement::tf32), CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
  EXPECT_EQ(type(TmaElement::f32), CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_EQ(type(TmaElement::f16), CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(type(TmaElement::bf16), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
}

TEST_F(TensorMap, SaysWhatTheDriverRefused) {
  const TensorMapLayout layout = layout_of(TmaElement::f32, {32, 8}, {32, 8}, {1, 1}, TmaSwizzle::none);
  const auto refuse = [](CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                         const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                         CUtensorMapSwizzle, CUtensorMapL2promotion,
                         CUtensorMapFloatOOBfill) { return CUDA_ERROR_INVALID_VALUE; };
  try {
    cuda::encode_tensor_map(layout, refuse);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rank 2 with the box 32x8x1x1x1 (error 1)"));
  }
}

}  // namespace
}  // namespace convscope

#endif
