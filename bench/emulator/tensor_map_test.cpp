// What the project tells cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, read back by a decoder of its
// own, after the CUDA driver API's description of those functions and the PTX ISA's of tensor copies, and
// walked element by element: it brings the same bytes to shared memory as the emulator's TMA.
#if defined(CONVSCOPE_HAS_CUDA)

#include "bench/device/cuda/tensor_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  uint32_t box[5];
  uint8_t step[5], type, rank, interleave, swizzle, promotion, fill;
};
static_assert(sizeof(Arguments) <= sizeof(CUtensorMap));

CUresult record(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                const cuuint32_t* step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  Arguments all{};
  all.base = reinterpret_cast<uint64_t>(base);
  for (cuuint32_t d = 0; d < rank; ++d) {
    all.size[d] = size[d], all.box[d] = box[d], all.step[d] = static_cast<uint8_t>(step[d]);
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

// 16-bit words of an element.
size_t words_of_element(const Arguments& map) {
  const bool wide = map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  EXPECT_TRUE(wide || map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ||
              map.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(map.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);  // zeros
  return wide ? 2 : 1;
}

// CU_TENSOR_MAP_SWIZZLE_128B: the 16-byte chunk in a line of 128 bytes, xor the line's number modulo 8.
size_t place_of_word(const Arguments& map, size_t word) {
  if (map.swizzle != CU_TENSOR_MAP_SWIZZLE_128B) return word;
  const size_t line = word / 64, chunk = word / 8 % 8;
  return line * 64 + (chunk ^ line % 8) * 8 + word % 8;
}

// The words of the box at `at`, in the order of shared memory.
std::vector<uint16_t> words_of_box(const Arguments& map, const int (&at)[5]) {
  const size_t element = words_of_element(map);
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
    const size_t to = place_of_word(map, i * element);
    if (inside) std::memcpy(&words[to], reinterpret_cast<const void*>(from), 2 * element);
  }
  return words;
}

// Of an NHWC tensor: channels and pixels of a load are box[0] and box[1].
struct PixelArguments : Arguments {
  int8_t lower[2], upper[2];
};
static_assert(sizeof(PixelArguments) <= sizeof(CUtensorMap));

CUresult record_pixels(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                       const cuuint64_t* size, const cuuint64_t* stride, const int* lower, const int* upper,
                       cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* step,
                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  EXPECT_EQ(rank, 4u);
  const cuuint32_t box[4] = {channels, pixels, 0, 0};
  record(map, type, rank, base, size, stride, box, step, interleave, swizzle, promotion, fill);
  PixelArguments all{};
  static_cast<Arguments&>(all) = decoded(*map);
  for (int d = 0; d < 2; ++d) {
    all.lower[d] = static_cast<int8_t>(lower[d]);
    all.upper[d] = static_cast<int8_t>(upper[d]);
  }
  std::memcpy(static_cast<void*>(map), &all, sizeof(all));
  return CUDA_SUCCESS;
}

// Numbers the pixels of all boxes, image by image and row by row, and takes those from the first one on.
std::vector<uint16_t> words_of_run(const PixelArguments& map, const int (&at)[4], const int (&offset)[2]) {
  const size_t element = words_of_element(map);
  int64_t extent[2], start[2];  // in steps
  for (int d = 0; d < 2; ++d) {
    const int64_t last = static_cast<int64_t>(map.size[d + 1]) - 1 + map.upper[d];
    extent[d] = (last - map.lower[d]) / map.step[d + 1] + 1;
    start[d] = (at[d + 1] - map.lower[d]) / map.step[d + 1];
  }
  std::vector<uint16_t> words(size_t{map.box[1]} * map.box[0] * element);
  for (uint32_t pixel = 0; pixel < map.box[1]; ++pixel) {
    const int64_t number = (at[3] * extent[1] + start[1]) * extent[0] + start[0] + pixel;
    const int64_t index[3] = {map.lower[0] + number % extent[0] * map.step[1] + offset[0],
                              map.lower[1] + number / extent[0] % extent[1] * map.step[2] + offset[1],
                              number / (extent[0] * extent[1])};
    bool inside = true;
    uint64_t from = map.base;
    for (int d = 0; d < 3; ++d) {
      inside = inside && index[d] >= 0 && static_cast<uint64_t>(index[d]) < map.size[d + 1];
      if (inside) from += static_cast<uint64_t>(index[d]) * map.stride[d];
    }
    for (uint32_t i = 0; inside && i < map.box[0]; ++i) {
      const int64_t channel = int64_t{at[0]} + i;
      if (channel < 0 || static_cast<uint64_t>(channel) >= map.size[0]) continue;
      const size_t to = place_of_word(map, (size_t{pixel} * map.box[0] + i) * element);
      const uint64_t address = from + static_cast<uint64_t>(channel) * 2 * element;
      std::memcpy(&words[to], reinterpret_cast<const void*>(address), 2 * element);
    }
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

  // As layout_of(): channels, width, height, images.
  PixelMapLayout pixels_of(TmaElement element, std::vector<uint32_t> size, TmaSwizzle swizzle) {
    const TensorMapLayout all = layout_of(element, std::move(size), {1, 1, 1, 1}, {1, 1, 1, 1}, swizzle);
    PixelMapLayout layout;
    layout.element = element, layout.swizzle = swizzle, layout.base = all.base;
    std::copy_n(all.size, 4, layout.size);
    std::copy_n(all.stride_bytes, 3, layout.stride_bytes);
    return layout;
  }

  void expect_the_same(const PixelMapLayout& layout, const int (&at)[4], const int (&offset)[2]) {
    const CUtensorMap encoded = cuda::encode_pixel_map(layout, record_pixels);
    PixelArguments map;
    std::memcpy(static_cast<void*>(&map), &encoded, sizeof(map));
    EXPECT_EQ(map.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    const std::vector<uint16_t> expected = words_of_run(map, at, offset);
    Buffer to(device_, expected.size() * 2);
    emulated::hopper_kernels().load_pixels(layout, at, offset, to.data(), to.bytes(), *queue_);
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

TEST_F(TensorMap, OfARunOfPixelsBringsWhatTheEmulatorBrings) {
  for (const TmaElement element : {TmaElement::f32, TmaElement::bf16}) {
    PixelMapLayout layout = pixels_of(element, {40, 9, 7, 3}, TmaSwizzle::bytes_128);
    layout.channels = element == TmaElement::f32 ? 32 : 64;
    layout.pixels = 50;
    layout.lower[0] = -1, layout.upper[0] = -2, layout.step[0] = 2;
    layout.lower[1] = -3, layout.upper[1] = 1, layout.step[1] = 3;
    for (const int image : {0, 2})
      for (const int x : {-1, 1, 5})
        for (const int y : {-3, 0, 6}) expect_the_same(layout, {8, x, y, image}, {1, 2});
  }
  PixelMapLayout plain = pixels_of(TmaElement::f16, {24, 6, 4, 2}, TmaSwizzle::none);
  plain.channels = 24, plain.pixels = 10;
  for (const int channel : {-8, 0, 16}) expect_the_same(plain, {channel, 3, 1, 1}, {0, 255});
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

TEST_F(TensorMap, SaysWhichRunOfPixelsTheDriverRefused) {
  PixelMapLayout layout = pixels_of(TmaElement::f32, {32, 8, 6, 2}, TmaSwizzle::none);
  layout.channels = 32, layout.pixels = 64, layout.lower[0] = -1, layout.upper[1] = -2;
  const auto refuse = [](CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                         const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*,
                         CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                         CUtensorMapFloatOOBfill) { return CUDA_ERROR_INVALID_VALUE; };
  try {
    cuda::encode_pixel_map(layout, refuse);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("64 pixels of 32 channels of images of 8x6 with the corners "
                                     "(-1, 0) and (0, -2) (error 1)"));
  }
}

}  // namespace
}  // namespace convscope

#endif
