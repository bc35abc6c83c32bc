// What the two Hopper kernels have in common. A producer warp asks TMA for loads of A and B into the ring of
// tma_ring.cuh; two warpgroups multiply them with wgmma, half of the rows each, and hold FP32 sums. f32
// tensors are multiplied as tf32, to which TMA rounds them, bf16 and fp16 as they are. What is loaded and
// where sums go is the kernels' own: hopper.cu, hopper_filter.cu. Only for sm_90a.
#pragma once

#include <type_traits>

#include "algorithms/common/tally.hpp"
#include "algorithms/common/tma_ring.cuh"
#include "algorithms/implicit_gemm/cuda/hopper_launchers.hpp"
#include "bench/device/kernel/hopper.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// Outside the unnamed namespace, as other architectures do not use all of it, which nvcc would report. A
// stage is, K-major, Rows lines of A and Columns lines of B with 128 bytes of depth each; MN-major, for every
// 64 rows and 64 columns 64 lines, a depth each.
template <typename ElementType, Major MajorIndex, int Rows, int Columns, int Stages, int Blocks>
struct HopperShape {
  using Element = ElementType;
  using Stored = std::conditional_t<std::is_same_v<Element, Tf32>, float, Element>;
  static constexpr Major kMajor = MajorIndex;
  static constexpr int kRows = Rows, kColumns = Columns, kStages = Stages;
  static constexpr int kConsumerWarps = 8, kConsumerThreads = 32 * kConsumerWarps;
  static constexpr int kThreads = kConsumerThreads + 32;
  static constexpr int kBlocks = Blocks;        // on a multiprocessor
  static constexpr int kRowTiles = Rows / 128;  // products of 64 rows of a warpgroup
  static constexpr int kLine = 128 / static_cast<int>(sizeof(Stored));
  static constexpr int kStep = implicit_gemm::kWgmmaDepthBytes / static_cast<int>(sizeof(Stored));
  static constexpr int kStepsOfLine = kLine / kStep;  // and of 64 lines
  static constexpr int kSlabBytes = 64 * 128;         // of 64 rows or columns in a stage
  static constexpr int kABytes = Rows * 128, kBBytes = Columns * 128, kStageBytes = kABytes + kBBytes;
};

namespace {

template <typename Shape>
using Sums = float[Shape::kRowTiles][Shape::kColumns / 2];

template <typename Shape>
__device__ __forceinline__ uint64_t operand(const unsigned char* slab) {
  if constexpr (Shape::kMajor == Major::k)
    return wgmma_descriptor(slab);
  else
    return wgmma_descriptor_mn(slab, Shape::kSlabBytes);
}

// A warp of the consumers and its side of the ring.
template <typename Shape>
struct Consumer {
  Ring<Shape> ring;
  RingPosition<Shape::kStages> at;
  int unreleased;  // the stage that its newest products still read, or -1

  // Multiplies the first `Steps` steps of depth of the next stage and releases the stage before.
  template <int Steps>
  __device__ __forceinline__ void multiply_stage(Sums<Shape>& sums) {
    constexpr uint64_t slab = wgmma_descriptor_step(Shape::kSlabBytes);
    constexpr uint64_t next = wgmma_descriptor_step(
        Shape::kMajor == Major::k ? implicit_gemm::kWgmmaDepthBytes : Shape::kStep * 128);
    const int warpgroup = static_cast<int>(threadIdx.x) / 128;
    mbarrier_wait(&ring.full[at.stage], at.parity);
    const unsigned char* const stage = ring.stages + at.stage * Shape::kStageBytes;
    const uint64_t a = operand<Shape>(stage + warpgroup * Shape::kRowTiles * Shape::kSlabBytes);
    const uint64_t b = operand<Shape>(stage + Shape::kABytes);
    wgmma_fence();
    UNROLL
    for (int step = 0; step < Steps; ++step) UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i)
      wgmma<typename Shape::Element, Shape::kColumns, Shape::kMajor>(sums[i], a + i * slab + step * next,
                                                                     b + step * next, 1);
    tally_product(2 * Steps * Shape::kRows * Shape::kColumns * Shape::kStep / Shape::kConsumerThreads);
    wgmma_commit_group();
    wgmma_wait_group<1>();
    // The products of the stage before are done now, in all lanes.
    __syncwarp();
    if (unreleased >= 0 && threadIdx.x % 32 == 0) mbarrier_arrive(&ring.empty[unreleased]);
    unreleased = at.stage;
    at.advance();
  }
};

// The stages of a block: `repeats` times `whole` stages of all steps and one of `last_steps`, whose other
// steps are all zeros.
struct Stages {
  int repeats, whole, last_steps;
};

// Backward-filter with room in the registers: the sums of a few loads at a time are added up with rounding.
template <typename Shape, int Steps>
__device__ __forceinline__ void multiply_in_pieces(Sums<Shape>& totals, Consumer<Shape>& consumer,
                                                   int loads) {
  for (int first = 0; first < loads; first += implicit_gemm::kLoadsOfSum) {
    const int last = min(first + implicit_gemm::kLoadsOfSum, loads);
    Sums<Shape> sums = {};
    for (int i = first; i < last; ++i) consumer.template multiply_stage<Steps>(sums);
    wgmma_wait_group<0>();
    UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
    for (int j = 0; j < Shape::kColumns / 2; ++j) totals[i][j] += sums[i][j];
  }
}

template <typename Shape, int LastSteps>
__device__ __forceinline__ void multiply_stages(Sums<Shape>& sums, const Ring<Shape>& ring,
                                                const Stages& stages) {
  Consumer<Shape> consumer{ring, {}, -1};
  if constexpr (Shape::kMajor == Major::mn && Shape::kColumns == 64) {
    multiply_in_pieces<Shape, LastSteps>(sums, consumer, stages.repeats);
  } else {
    for (int repeat = 0; repeat < stages.repeats; ++repeat) {
      for (int i = 0; i < stages.whole; ++i) consumer.template multiply_stage<Shape::kStepsOfLine>(sums);
      consumer.template multiply_stage<LastSteps>(sums);
    }
    wgmma_wait_group<0>();
  }
}

// Which of the four loops is decided here: with a branch inside it ptxas would run one wgmma after the other.
template <typename Shape>
__device__ __forceinline__ void multiply_tiles(Sums<Shape>& sums, const Ring<Shape>& ring,
                                               const Stages& stages) {
  static_assert(Shape::kStepsOfLine == 4);
  if (stages.last_steps == 1) multiply_stages<Shape, 1>(sums, ring, stages);
  if (stages.last_steps == 2) multiply_stages<Shape, 2>(sums, ring, stages);
  if (stages.last_steps == 3) multiply_stages<Shape, 3>(sums, ring, stages);
  if (stages.last_steps == 4) multiply_stages<Shape, 4>(sums, ring, stages);
}

// A pixel's place among all of them.
struct PixelPlace {
  int image, y, x;
};

__device__ __forceinline__ PixelPlace place_of_pixel(const implicit_gemm::PixelBoxes& pixels, int pixel) {
  const int line = pixel / pixels.width, image = line / pixels.height;
  return {image, line - image * pixels.height, pixel - line * pixels.width};
}

// Of the first pixel of a load.
__device__ __forceinline__ PixelPlace place_of_load(const implicit_gemm::PixelBoxes& pixels, int load) {
  if (pixels.run > 0) return place_of_pixel(pixels, load * pixels.run);
  const int across = (pixels.width + pixels.box.width - 1) / pixels.box.width;
  const int down = (pixels.height + pixels.box.height - 1) / pixels.box.height;
  const int line = load / across, image = line / down;
  return {image * pixels.box.images, (line - image * down) * pixels.box.height,
          (load - line * across) * pixels.box.width};
}

// The row of the tile that a thread's sums [i] are in, at `half` 0 and 1.
template <typename Shape>
__device__ __forceinline__ int row_of(int i, int half) {
  const int thread = static_cast<int>(threadIdx.x);
  return (thread / 128 * Shape::kRowTiles + i) * 64 + thread / 32 % 4 * 16 + thread % 32 / 4 + 8 * half;
}

template <typename Stored>
__device__ __forceinline__ uint32_t two_elements(float x, float y) {
  const Stored pair[2] = {static_cast<Stored>(x), static_cast<Stored>(y)};
  uint32_t word;
  memcpy(&word, pair, sizeof(word));
  return word;
}

// One row's sums to D: columns 8j + 2t and 8j + 2t + 1 are in sums[4j + 2 half] and the one behind.
// `row` points at the tile's first column; null where the row is none of D's. All lanes of the warp call it.
template <typename Shape, typename Stored>
__device__ __forceinline__ void store_row(const float (&sums)[Shape::kColumns / 2], int half, Stored* row,
                                          int columns, int column_stride) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  if (column_stride != 1 || columns % 4 != 0) {
    if (!row) return;
    UNROLL
    for (int j = 0; j < Shape::kColumns / 8; ++j) UNROLL
    for (int e = 0; e < 2; ++e)
      if (8 * j + 2 * t + e < columns)
        row[int64_t{8 * j + 2 * t + e} * column_stride] = static_cast<Stored>(sums[4 * j + 2 * half + e]);
    return;
  }
  if constexpr (sizeof(Stored) == 4) {
    UNROLL
    for (int j = 0; j < Shape::kColumns / 8; ++j)
      if (row && 8 * j + 2 * t < columns)
        *reinterpret_cast<float2*>(row + 8 * j + 2 * t) =
            make_float2(sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
  } else {
    // Of two neighbouring lanes one stores the first 8 columns' share of both, the other the second's: 8
    // bytes a lane, 32 a row.
    const bool odd = t % 2;
    UNROLL
    for (int j = 0; j < Shape::kColumns / 8; j += 2) {
      const float* const at = &sums[4 * j + 2 * half];
      const uint32_t first = two_elements<Stored>(at[0], at[1]), second = two_elements<Stored>(at[4], at[5]);
      const uint32_t got = __shfl_xor_sync(~0u, odd ? first : second, 1);
      const int column = 8 * j + (odd ? 8 : 0) + t / 2 * 4;
      if (row && column < columns)
        *reinterpret_cast<uint2*>(row + column) = odd ? make_uint2(got, second) : make_uint2(first, got);
    }
  }
}

template <typename Shape>
TmaElement element_of() {
  if (std::is_same_v<typename Shape::Stored, float>) return TmaElement::tf32;
  return std::is_same_v<typename Shape::Stored, __half> ? TmaElement::f16 : TmaElement::bf16;
}

// A dimension of a tensor map: its size, the elements and step of the box, and the pitch in elements, which
// follows from the sizes where it is 0.
struct Dimension {
  int size, box, step = 1, pitch = 0;
};

template <typename Shape, int Rank>
TensorMap dense_map(const void* base, int channel_pitch, const Dimension (&dimensions)[Rank]) {
  TensorMapLayout layout;
  layout.element = element_of<Shape>();
  layout.base = base;
  layout.rank = Rank;
  uint64_t stride = static_cast<uint64_t>(channel_pitch) * sizeof(typename Shape::Stored);
  for (int i = 0; i < Rank; ++i) {
    const Dimension& dimension = dimensions[i];
    layout.size[i] = static_cast<uint64_t>(dimension.size);
    layout.box[i] = static_cast<uint32_t>(dimension.box * dimension.step);
    layout.step[i] = static_cast<uint32_t>(dimension.step);
    if (i == 0) continue;
    if (dimension.pitch > 0) stride = static_cast<uint64_t>(dimension.pitch) * sizeof(typename Shape::Stored);
    layout.stride_bytes[i - 1] = stride;
    stride *= layout.size[i];
  }
  return make_tensor_map(layout);
}

// The image that taps meet pixels in, as loads of runs read it: `channels` of all groups, the box of where a
// pixel's first tap is.
template <typename Shape>
TensorMap pixel_map(const void* base, int channels, int channel_pitch,
                    const implicit_gemm::PixelBoxes& pixels) {
  constexpr uint64_t kBytes = sizeof(typename Shape::Stored);
  PixelMapLayout layout;
  layout.element = element_of<Shape>();
  layout.base = base;
  const int size[4] = {channels, pixels.image_width, pixels.image_height, pixels.images};
  for (int i = 0; i < 4; ++i) layout.size[i] = static_cast<uint64_t>(size[i]);
  layout.stride_bytes[0] =
      kBytes * static_cast<uint64_t>(pixels.pixel_pitch > 0 ? pixels.pixel_pitch : channel_pitch);
  layout.stride_bytes[1] = pixels.line_pitch > 0 ? kBytes * static_cast<uint64_t>(pixels.line_pitch)
                                                 : layout.stride_bytes[0] * layout.size[1];
  layout.stride_bytes[2] = layout.stride_bytes[1] * layout.size[2];
  layout.channels = Shape::kLine;
  layout.pixels = static_cast<uint32_t>(pixels.run);
  const int lower[2] = {pixels.lower_x(), pixels.lower_y()}, step[2] = {pixels.step_x, pixels.step_y};
  const int count[2] = {pixels.width, pixels.height};
  for (int i = 0; i < 2; ++i) {
    layout.lower[i] = lower[i];
    layout.upper[i] = implicit_gemm::upper_corner(lower[i], count[i], step[i], size[1 + i]);
    layout.step[i] = static_cast<uint32_t>(step[i]);
  }
  return make_pixel_map(layout);
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS
