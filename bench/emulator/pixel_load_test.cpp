// TMA loads of runs of pixels (im2col mode) bring the rows of the matrix that a convolution multiplies, and
// misuse is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bench/emulator/hopper_fixture.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// By dimension: x, y.
struct Convolved {
  TmaElement element = TmaElement::bf16;
  TmaSwizzle swizzle = TmaSwizzle::bytes_128;
  int channels = 64, size[2] = {7, 7}, images = 2;
  int loaded = 64, pixels = 32;  // by a load
  int taps[2] = {3, 3}, before[2] = {1, 1}, after[2] = {1, 1}, dilation[2] = {1, 1}, stride[2] = {1, 1};

  int out(int d) const {
    return (size[d] + before[d] + after[d] - (taps[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  }
  PixelMapLayout layout(const void* tensor) const {
    PixelMapLayout map;
    map.element = element, map.swizzle = swizzle, map.base = tensor;
    const int sizes[4] = {channels, size[0], size[1], images};
    auto stride_bytes = static_cast<uint64_t>(bytes_of(element));
    for (int d = 0; d < 4; ++d) {
      map.size[d] = static_cast<uint64_t>(sizes[d]);
      if (d > 0) map.stride_bytes[d - 1] = stride_bytes;
      stride_bytes *= map.size[d];
    }
    map.channels = static_cast<uint32_t>(loaded), map.pixels = static_cast<uint32_t>(pixels);
    for (int d = 0; d < 2; ++d) {
      map.lower[d] = -before[d];
      map.upper[d] = after[d] - (taps[d] - 1) * dilation[d];
      map.step[d] = static_cast<uint32_t>(stride[d]);
    }
    return map;
  }
  size_t words() const {  // of 16 bits, of the tensor
    return static_cast<size_t>(channels * size[0] * size[1] * images * bytes_of(element) / 2);
  }
  int pitch() const {  // words from a pixel's line in shared memory to the next
    return swizzle == TmaSwizzle::bytes_128 ? 64 : loaded * bytes_of(element) / 2;
  }
};

// Where a word of 16 bits lies with the 128-byte swizzle: 16-byte chunks change places by the line.
size_t swizzled_word(size_t word) {
  const size_t line = word / 64, chunk = word / 8 % 8;
  return line * 64 + (chunk ^ line % 8) * 8 + word % 8;
}

class PixelLoads : public HopperTest {
 protected:
  // The words of the load that begins with output pixel `first`, by the definition of a convolution.
  static std::vector<uint16_t> expected(const Convolved& c, const std::vector<uint16_t>& tensor, int first,
                                        int tap_x, int tap_y, int channel) {
    const int element = bytes_of(c.element) / 2;
    std::vector<uint16_t> words(static_cast<size_t>(c.pixels * c.pitch()), kUntouched);
    for (int pixel = 0; pixel < c.pixels; ++pixel) {
      const int number = first + pixel;
      const int x = number % c.out(0) * c.stride[0] + tap_x * c.dilation[0] - c.before[0];
      const int y = number / c.out(0) % c.out(1) * c.stride[1] + tap_y * c.dilation[1] - c.before[1];
      const int image = number / (c.out(0) * c.out(1));
      const bool inside = x >= 0 && x < c.size[0] && y >= 0 && y < c.size[1] && image < c.images;
      for (int i = 0; i < c.loaded * element; ++i) {
        const auto to = static_cast<size_t>(pixel * c.pitch() + i);
        const int from = ((image * c.size[1] + y) * c.size[0] + x) * c.channels + channel;
        words[c.swizzle == TmaSwizzle::bytes_128 ? swizzled_word(to) : to] =
            inside && i < (c.channels - channel) * element ? tensor[static_cast<size_t>(from * element + i)]
                                                           : 0;
      }
    }
    return words;
  }

  // Every `every`-th load of all runs, taps and blocks of channels.
  void expect_rows_of_the_matrix(const Convolved& c, int every = 1) {
    std::vector<uint16_t> tensor(c.words());
    for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<uint16_t>(0x3c00 + i % 0x3001);
    const Buffer on_tensor = to_device(tensor);
    const Buffer to(*device_, static_cast<size_t>(c.pixels * c.pitch() * 2));
    const PixelMapLayout layout = c.layout(on_tensor.data());
    int number = 0;
    for (int first = 0; first < c.out(0) * c.out(1) * c.images; first += c.pixels)
      for (int tap = 0; tap < c.taps[0] * c.taps[1]; ++tap)
        for (int channel = 0; channel < c.channels; channel += c.loaded) {
          if (number++ % every != 0) continue;
          const int tap_x = tap % c.taps[0], tap_y = tap / c.taps[0];
          kernels_.load_pixels(
              layout,
              {channel, first % c.out(0) * c.stride[0] - c.before[0],
               first / c.out(0) % c.out(1) * c.stride[1] - c.before[1], first / (c.out(0) * c.out(1))},
              {tap_x * c.dilation[0], tap_y * c.dilation[1]}, to.data(), to.bytes(), *queue_);
          ASSERT_EQ(to_host<uint16_t>(to), expected(c, tensor, first, tap_x, tap_y, channel))
              << "from pixel " << first << " at the tap " << tap_x << ", " << tap_y << ", channel "
              << channel;
        }
  }
};

TEST_P(PixelLoads, BringTheRowsOfAConvolutionsMatrix) {
  expect_rows_of_the_matrix({});
  expect_rows_of_the_matrix({.taps = {1, 1}, .before = {0, 0}, .after = {0, 0}});
  expect_rows_of_the_matrix({.size = {9, 6}, .images = 3, .pixels = 55, .before = {0, 0}, .after = {0, 0}});
  expect_rows_of_the_matrix({.taps = {5, 5}, .before = {2, 2}, .after = {2, 2}}, 3);
  expect_rows_of_the_matrix({.size = {20, 20}, .pixels = 256}, 2);
}

TEST_P(PixelLoads, OfStridesDilationsAndPaddingsThatDifferByDimension) {
  expect_rows_of_the_matrix({.size = {13, 14}, .stride = {2, 2}});
  expect_rows_of_the_matrix({.size = {14, 23}, .before = {1, 0}, .after = {0, 1}, .stride = {2, 3}});
  expect_rows_of_the_matrix({.size = {9, 8}, .before = {2, 1}, .after = {1, 2}, .dilation = {2, 1}}, 2);
  expect_rows_of_the_matrix(
      {.size = {33, 30}, .taps = {3, 1}, .before = {1, 0}, .after = {1, 0}, .stride = {8, 4}});
}

TEST_P(PixelLoads, OfEachTypeWithAndWithoutSwizzle) {
  for (const TmaElement element : {TmaElement::f32, TmaElement::f16, TmaElement::bf16}) {
    const int line = 128 / bytes_of(element);
    expect_rows_of_the_matrix({.element = element, .channels = 2 * line, .size = {5, 4}, .loaded = line}, 3);
    expect_rows_of_the_matrix(
        {.element = element, .swizzle = TmaSwizzle::none, .channels = 24, .size = {5, 4}, .loaded = 24}, 3);
  }
}

TEST_P(PixelLoads, BringZerosForChannelsThatTheTensorDoesNotHave) {
  expect_rows_of_the_matrix({.channels = 8, .size = {5, 4}});
  expect_rows_of_the_matrix({.channels = 96, .size = {5, 4}}, 2);
}

// What is between the lines keeps its value and is not counted at the barrier.
TEST_P(PixelLoads, WithSwizzleAreLinesThatBegin128BytesApart) {
  for (const int channels : {8, 24, 32, 56})
    expect_rows_of_the_matrix({.channels = channels, .size = {5, 4}, .loaded = channels}, 2);
  expect_rows_of_the_matrix({.element = TmaElement::f32, .channels = 20, .size = {5, 4}, .loaded = 20}, 2);
}

// A run may begin between the steps: they count from there to the end of the row, then from the lower corner.
TEST_P(PixelLoads, BeginBetweenTheStepsOfTheBox) {
  std::vector<float> tensor(7 * 5 * 4);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i / 4 + 1);  // the pixel's number
  const Buffer on_tensor = to_device(tensor), to = floats(8 * 4);
  const Convolved c{.element = TmaElement::f32,
                    .swizzle = TmaSwizzle::none,
                    .channels = 4,
                    .size = {7, 5},
                    .images = 1,
                    .loaded = 4,
                    .pixels = 8,
                    .stride = {2, 2}};
  // The box has x from -1 to 5 and y from -1 to 3.
  kernels_.load_pixels(c.layout(on_tensor.data()), {0, 2, 0, 0}, {1, 1}, to.data(), to.bytes(), *queue_);
  const std::vector<float> lines = to_host<float>(to);
  std::vector<float> numbers;
  for (size_t pixel = 0; pixel < 8; ++pixel) numbers.push_back(lines[pixel * 4]);
  EXPECT_THAT(numbers, ElementsAre(11, 13, 22, 24, 26, 28, 0, 0));
}

// One image, one line, one tap, no padding.
Convolved line_of_pixels(TmaElement element, int channels, int width, int pixels) {
  return {.element = element,
          .swizzle = TmaSwizzle::none,
          .channels = channels,
          .size = {width, 1},
          .images = 1,
          .loaded = channels,
          .pixels = pixels,
          .taps = {1, 1},
          .before = {0, 0},
          .after = {0, 0}};
}

// Pixels of 32 bytes that lie 16 bytes apart: each is a pixel and its right neighbour.
TEST_P(PixelLoads, OfPixelsThatOverlap) {
  const std::vector<float> tensor = whole_numbers(6 * 4, 3);
  const Buffer on_tensor = to_device(tensor), to = floats(8 * 8);
  PixelMapLayout layout = line_of_pixels(TmaElement::f32, 8, 5, 8).layout(on_tensor.data());
  for (uint64_t& stride : layout.stride_bytes) stride = 16;
  kernels_.load_pixels(layout, {0, 0, 0, 0}, {0, 0}, to.data(), to.bytes(), *queue_);
  std::vector<float> expected(8 * 8);
  for (size_t pixel = 0; pixel < 5; ++pixel)
    std::copy_n(tensor.begin() + static_cast<int>(4 * pixel), 8,
                expected.begin() + static_cast<int>(8 * pixel));
  EXPECT_EQ(to_host<float>(to), expected);
}

TEST_P(PixelLoads, RoundTf32) {
  const std::vector<uint32_t> tensor{0x3f800fff, 0x3f801001, 0x3f803000, 0x7f800000};
  const Buffer on_tensor = to_device(tensor), to = floats(4);
  const Convolved c = line_of_pixels(TmaElement::tf32, 4, 1, 1);
  kernels_.load_pixels(c.layout(on_tensor.data()), {0, 0, 0, 0}, {0, 0}, to.data(), to.bytes(), *queue_);
  EXPECT_THAT(to_host<uint32_t>(to), ElementsAre(0x3f800000, 0x3f802000, 0x3f804000, 0x7f800000));
}

TEST_P(PixelLoads, RefuseLayoutsThatTheDriverRefuses) {
  const Convolved c;
  const Buffer tensor(*device_, 2 * c.words()), to(*device_, size_t{32} * 128);
  const auto refused = [&](auto change) {
    PixelMapLayout layout = c.layout(tensor.data());
    change(layout);
    EXPECT_THROW(kernels_.load_pixels(layout, {0, 0, 0, 0}, {0, 0}, to.data(), to.bytes(), *queue_),
                 DeviceError);
  };
  EXPECT_NO_THROW(
      kernels_.load_pixels(c.layout(tensor.data()), {0, 0, 0, 0}, {0, 0}, to.data(), to.bytes(), *queue_));
  refused([](PixelMapLayout& layout) { layout.base = static_cast<const uint16_t*>(layout.base) + 1; });
  refused([](PixelMapLayout& layout) { layout.size[3] = 0; });
  refused([](PixelMapLayout& layout) { layout.stride_bytes[1] += 8; });
  refused([](PixelMapLayout& layout) { layout.channels = 72; });
  refused([](PixelMapLayout& layout) { layout.channels = 0; });
  refused([](PixelMapLayout& layout) { layout.pixels = 1025; });
  refused([](PixelMapLayout& layout) { layout.pixels = 0; });
  refused([](PixelMapLayout& layout) { layout.lower[1] = -129; });
  refused([](PixelMapLayout& layout) { layout.upper[0] = 128; });
  refused([](PixelMapLayout& layout) { layout.upper[0] = -8; });  // an empty box
  refused([](PixelMapLayout& layout) { layout.step[1] = 9; });
  const auto plain = [&](uint32_t channels) {
    refused([&](PixelMapLayout& layout) { layout.swizzle = TmaSwizzle::none, layout.channels = channels; });
  };
  plain(12);
  plain(264);
}

class PixelLoadMisuse : public PixelLoads {
 protected:
  std::string error_of(const auto& load) {
    try {
      load();
      queue_->synchronize();
      return "";
    } catch (const DeviceError& error) {
      return error.what();
    }
  }
};

// On an H100 all of these but the offsets, which it takes modulo 256, are illegal instructions.
TEST_P(PixelLoadMisuse, OfPositionsAndOffsetsIsReported) {
  const Convolved c;
  const Buffer tensor(*device_, 2 * c.words()), to(*device_, size_t{32} * 128);
  const auto error_at = [&](std::vector<int> position, std::vector<int> offset) {
    return error_of([&] {
      kernels_.load_pixels(c.layout(tensor.data()), {position[0], position[1], position[2], position[3]},
                           {offset[0], offset[1]}, to.data(), to.bytes(), *queue_);
    });
  };
  EXPECT_EQ(error_at({0, -1, -1, 0}, {255, 255}), "");
  EXPECT_EQ(error_at({-8, 5, 5, 2}, {0, 0}), "");
  EXPECT_THAT(error_at({4, 0, 0, 0}, {0, 0}),
              HasSubstr("coordinate 4 of dimension 0, 8 bytes, which is not a multiple of 16"));
  EXPECT_THAT(error_at({0, -2, 0, 0}, {0, 0}), HasSubstr("from (-2, 0), which is not in the box"));
  EXPECT_THAT(error_at({0, 0, 6, 0}, {0, 0}), HasSubstr("from (0, 6), which is not in the box"));
  EXPECT_THAT(error_at({0, 0, 0, 0}, {0, 256}), HasSubstr("the offset 256, not 0 to 255"));
  EXPECT_THAT(error_at({0, 0, 0, 0}, {256, 0}), HasSubstr("test_kernels/hopper.cu:"));
}

TEST_P(PixelLoadMisuse, OfTheOtherLoadsMapIsReported) {
  const Convolved c;
  const Buffer tensor(*device_, 2 * c.words()), to(*device_, 1024);
  TensorMapLayout box;
  box.base = tensor.data();
  box.size[0] = box.box[0] = 32, box.stride_bytes[0] = 128;
  const auto error_with = [&](bool pixels) {
    return error_of([&] {
      kernels_.load_with_the_other_map(box, c.layout(tensor.data()), pixels, to.data(), to.bytes(), *queue_);
    });
  };
  EXPECT_THAT(error_with(true), HasSubstr("pixels with a map of make_tensor_map()"));
  EXPECT_THAT(error_with(false), HasSubstr("a box with a map of make_pixel_map()"));
}

INSTANTIATE_TEST_SUITE_P(Devices, PixelLoads, ::testing::ValuesIn(test_devices()), device_name);
INSTANTIATE_TEST_SUITE_P(Devices, PixelLoadMisuse, ::testing::ValuesIn(emulators()), device_name);

}  // namespace
}  // namespace convscope
