// Hopper: a producer warp asks TMA for boxes of A and B, a tap and 128 bytes of channels at a time, into a
// ring of stages; two warpgroups multiply them with wgmma. f32 tensors as tf32 (the low 13 bits are cut off),
// bf16 and fp16 as they are; sums are FP32. What a box is: boxed_product.hpp. Only for sm_90a.
//
// Barriers: full[stage] completes when the bytes of both boxes have landed, empty[stage] when all warps of
// the consumers are done with it.
#include <type_traits>

#include "algorithms/implicit_gemm/boxed_product.hpp"
#include "bench/device/kernel/hopper.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// Outside the unnamed namespace, as other architectures do not use all of it, which nvcc would report.
// A stage is Rows lines of A and Columns lines of B, 128 bytes of channels each.
template <typename ElementType, int Rows, int Columns, int Stages, int Blocks>
struct HopperShape {
  using Element = ElementType;
  using Stored = std::conditional_t<std::is_same_v<Element, Tf32>, float, Element>;
  static constexpr int kRows = Rows, kColumns = Columns, kStages = Stages;
  static constexpr int kConsumerWarps = 8, kConsumerThreads = 32 * kConsumerWarps;
  static constexpr int kThreads = kConsumerThreads + 32;
  static constexpr int kBlocks = Blocks;        // on a multiprocessor
  static constexpr int kRowTiles = Rows / 128;  // products of 64 rows of a warpgroup
  static constexpr int kLine = 128 / static_cast<int>(sizeof(Stored));
  static constexpr int kStep = implicit_gemm::kWgmmaDepthBytes / static_cast<int>(sizeof(Stored));
  static constexpr int kStepsOfLine = kLine / kStep;
  static constexpr int kABytes = Rows * 128, kBBytes = Columns * 128, kStageBytes = kABytes + kBBytes;
  static constexpr size_t kSmemBytes = size_t{kStages} * kStageBytes + 2 * kStages * sizeof(uint64_t);
};

namespace {

using implicit_gemm::BoxedProduct;

// What a block computes: its first pixel, image and column, its group.
struct Place {
  int image, y, x, column, group;
};

template <typename Shape>
__device__ __forceinline__ Place place_of_block(const BoxedProduct& product) {
  const int column_tiles = (product.columns + Shape::kColumns - 1) / Shape::kColumns;
  const int across = (product.width + product.box.width - 1) / product.box.width;
  const int down = (product.height + product.box.height - 1) / product.box.height;
  const int block = static_cast<int>(blockIdx.x);
  const int box = block / column_tiles, line = box / across, image = line / down;
  return {image * product.box.images, (line - image * down) * product.box.height,
          (box - line * across) * product.box.width, (block - box * column_tiles) * Shape::kColumns,
          static_cast<int>(blockIdx.y)};
}

// The stage that a warp is at, and the parity of the barriers' phase.
template <int Stages>
struct RingPosition {
  int stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <typename Shape>
__device__ __forceinline__ void load_tiles(unsigned char* ring, uint64_t* full, uint64_t* empty,
                                           const TensorMap* a, const TensorMap* b,
                                           const BoxedProduct& product) {
  const Place place = place_of_block<Shape>(product);
  const int bytes = product.box.pixels() * 128 + Shape::kBBytes;
  const int first_y = product.first_y + place.y * product.step_y;
  const int first_x = product.first_x + place.x * product.step_x;
  RingPosition<Shape::kStages> at;
  for (int r = 0; r < product.taps_down; ++r)
    for (int s = 0; s < product.taps_across; ++s)
      for (int channel = 0; channel < product.channels; channel += Shape::kLine) {
        unsigned char* const stage = ring + at.stage * Shape::kStageBytes;
        uint64_t* const arrived = &full[at.stage];
        mbarrier_wait(&empty[at.stage], at.parity ^ 1);  // at once in the first round
        mbarrier_arrive_expect_tx(arrived, bytes);
        tma_load_5d(stage, a, arrived, channel, place.group, first_x + s * product.tap_x,
                    first_y + r * product.tap_y, place.image);
        tma_load_4d(stage + Shape::kABytes, b, arrived, channel,
                    product.first_tap + r * product.tap_line + s * product.tap_column, place.column,
                    place.group);
        at.advance();
      }
}

// A warp of the consumers and its side of the ring.
template <typename Shape>
struct Consumer {
  const unsigned char* ring;
  uint64_t* full;
  uint64_t* empty;
  RingPosition<Shape::kStages> at;
  int unreleased;  // the stage that its newest products still read, or -1

  // Multiplies the first `Steps` times 32 bytes of the next stage's lines and releases the stage before.
  template <int Steps>
  __device__ __forceinline__ void multiply_stage(float (&sums)[Shape::kRowTiles][Shape::kColumns / 2]) {
    constexpr int row_tile = 64 * 128 / 16;  // in a descriptor's units, as are the 2 of a step
    const int warpgroup = static_cast<int>(threadIdx.x) / 128;
    mbarrier_wait(&full[at.stage], at.parity);
    const unsigned char* const stage = ring + at.stage * Shape::kStageBytes;
    const uint64_t a = wgmma_descriptor(stage + warpgroup * Shape::kRowTiles * 64 * 128);
    const uint64_t b = wgmma_descriptor(stage + Shape::kABytes);
    wgmma_fence();
    UNROLL
    for (int step = 0; step < Steps; ++step) UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i)
      wgmma<typename Shape::Element, Shape::kColumns>(sums[i], a + i * row_tile + 2 * step, b + 2 * step, 1);
    wgmma_commit_group();
    wgmma_wait_group<1>();
    // The products of the stage before are done now, in all lanes.
    __syncwarp();
    if (unreleased >= 0 && threadIdx.x % 32 == 0) mbarrier_arrive(&empty[unreleased]);
    unreleased = at.stage;
    at.advance();
  }
};

// The last line of a tap's channels has LastSteps steps that are not all zeros.
template <typename Shape, int LastSteps>
__device__ __forceinline__ void multiply_taps(float (&sums)[Shape::kRowTiles][Shape::kColumns / 2],
                                              const unsigned char* ring, uint64_t* full, uint64_t* empty,
                                              const BoxedProduct& product) {
  Consumer<Shape> consumer{ring, full, empty, {}, -1};
  const int taps = product.taps_down * product.taps_across, whole = (product.channels - 1) / Shape::kLine;
  for (int tap = 0; tap < taps; ++tap) {
    for (int line = 0; line < whole; ++line) consumer.template multiply_stage<Shape::kStepsOfLine>(sums);
    consumer.template multiply_stage<LastSteps>(sums);
  }
  wgmma_wait_group<0>();
}

// Which of the four loops is decided here: with a branch inside it ptxas would run one wgmma after the other.
template <typename Shape>
__device__ __forceinline__ void multiply_tiles(float (&sums)[Shape::kRowTiles][Shape::kColumns / 2],
                                               const unsigned char* ring, uint64_t* full, uint64_t* empty,
                                               const BoxedProduct& product) {
  const int rest = (product.channels - 1) % Shape::kLine / Shape::kStep;
  static_assert(Shape::kStepsOfLine == 4);
  if (rest == 0) multiply_taps<Shape, 1>(sums, ring, full, empty, product);
  if (rest == 1) multiply_taps<Shape, 2>(sums, ring, full, empty, product);
  if (rest == 2) multiply_taps<Shape, 3>(sums, ring, full, empty, product);
  if (rest == 3) multiply_taps<Shape, 4>(sums, ring, full, empty, product);
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
template <typename Shape>
__device__ __forceinline__ void store_row(const float (&sums)[Shape::kColumns / 2], int half,
                                          typename Shape::Stored* row, int columns, int column_stride) {
  using Stored = typename Shape::Stored;
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
__device__ __forceinline__ void store_tile(const float (&sums)[Shape::kRowTiles][Shape::kColumns / 2],
                                           typename Shape::Stored* d, const BoxedProduct& product) {
  const int thread = static_cast<int>(threadIdx.x);
  const Place place = place_of_block<Shape>(product);
  typename Shape::Stored* const first =
      d + product.d_base + int64_t{place.group} * product.d_group + int64_t{place.column} * product.d_column;
  UNROLL
  for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row =
        (thread / 128 * Shape::kRowTiles + i) * 64 + thread / 32 % 4 * 16 + thread % 32 / 4 + 8 * half;
    const int line = row / product.box.width, image = line / product.box.height;
    const int x = place.x + row - line * product.box.width;
    const int y = place.y + line - image * product.box.height;
    const int n = place.image + image;
    const bool inside =
        image < product.box.images && n < product.images && y < product.height && x < product.width;
    typename Shape::Stored* const to =
        first + int64_t{n} * product.d_image + int64_t{y} * product.d_line + int64_t{x} * product.d_pixel;
    store_row<Shape>(sums[i], half, inside ? to : nullptr, product.columns - place.column, product.d_column);
  }
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    hopper_product(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                   const __grid_constant__ BoxedProduct product, typename Shape::Stored* __restrict__ d) {
  if constexpr (kHopperInstructions) {
    unsigned char* const ring = dynamic_smem<unsigned char>();
    auto* const full = reinterpret_cast<uint64_t*>(ring + Shape::kStages * Shape::kStageBytes);
    uint64_t* const empty = full + Shape::kStages;
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < Shape::kStages; ++stage) {
        mbarrier_init(&full[stage], 1);
        mbarrier_init(&empty[stage], Shape::kConsumerWarps);
      }
      mbarrier_fence_init();
    }
    __syncthreads();
    if (threadIdx.x >= Shape::kConsumerThreads) {
      if (threadIdx.x == Shape::kConsumerThreads) load_tiles<Shape>(ring, full, empty, &a, &b, product);
      return;
    }
    float sums[Shape::kRowTiles][Shape::kColumns / 2] = {};
    multiply_tiles<Shape>(sums, ring, full, empty, product);
    store_tile<Shape>(sums, d, product);
  }
}

template <typename Shape>
TmaElement element_of() {
  if (std::is_same_v<typename Shape::Stored, float>) return TmaElement::f32;
  return std::is_same_v<typename Shape::Stored, __half> ? TmaElement::f16 : TmaElement::bf16;
}

// A dimension of a tensor map: its size and the elements and step of the box. Strides follow from the sizes,
// as both tensors are dense but for the channels' pitch.
struct Dimension {
  int size, box, step = 1;
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
    layout.stride_bytes[i - 1] = stride;
    stride *= layout.size[i];
  }
  return make_tensor_map(layout);
}

template <typename Shape>
void launch_hopper(const BoxedProduct& product, const implicit_gemm::HopperOperands& operands, Queue& queue) {
  const TensorMap a = dense_map<Shape, 5>(operands.a, product.channel_pitch,
                                          {{product.channels, Shape::kLine},
                                           {product.groups, 1},
                                           {product.image_width, product.box.width, product.step_x},
                                           {product.image_height, product.box.height, product.step_y},
                                           {product.images, product.box.images}});
  const TensorMap b = dense_map<Shape, 4>(operands.b, product.channel_pitch,
                                          {{product.channels, Shape::kLine},
                                           {product.filter_taps, 1},
                                           {product.columns, Shape::kColumns},
                                           {product.groups, 1}});
  const int64_t column_tiles = (product.columns + Shape::kColumns - 1) / Shape::kColumns;
  const dim3 grid(static_cast<unsigned>(boxes(product) * column_tiles),
                  static_cast<unsigned>(product.groups));
  launch(hopper_product<Shape>, grid, Shape::kThreads, Shape::kSmemBytes, queue, a, b, product,
         static_cast<typename Shape::Stored*>(operands.d));
}

template <typename Element>
void launch_tile(const BoxedProduct& product, const implicit_gemm::HopperOperands& operands, Queue& queue) {
  if (product.tile.rows == 256)
    return launch_hopper<HopperShape<Element, 256, 128, 4, 1>>(product, operands, queue);
  if (product.tile.columns == 128)
    return launch_hopper<HopperShape<Element, 128, 128, 3, 2>>(product, operands, queue);
  launch_hopper<HopperShape<Element, 128, 64, 4, 2>>(product, operands, queue);
}

}  // namespace

void implicit_gemm_hopper(const BoxedProduct& product, const implicit_gemm::HopperOperands& operands,
                          Queue& queue) {
  if (product.math == MathMode::tf32) return launch_tile<Tf32>(product, operands, queue);
  if (product.math == MathMode::fp16) return launch_tile<__half>(product, operands, queue);
  launch_tile<__nv_bfloat16>(product, operands, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS
