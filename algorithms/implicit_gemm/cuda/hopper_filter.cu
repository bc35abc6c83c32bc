// Hopper, backward-filter: a stage is a run or a box of pixels of the output's gradient (A) and of the input
// where one tap meets it (B), both MN-major: a line of 64 channels is a pixel. The split depth goes to
// partial sums. What those are: boxed_gradient.hpp; the ring and the products: hopper_ring.hpp.
#include <stdexcept>

#include "algorithms/implicit_gemm/cuda/hopper_ring.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using implicit_gemm::BoxedGradient;

// What a block computes: its first row and column, tap and group, and the loads that it sums over.
struct Part {
  int row, column, r, s, group, split, first_load, loads;
};

// Columns are counted first, then taps: blocks that run at the same time read the same pixels.
template <typename Shape>
__device__ __forceinline__ Part part_of_block(const BoxedGradient& product) {
  const int column_tiles = (product.columns + Shape::kColumns - 1) / Shape::kColumns;
  const int block = static_cast<int>(blockIdx.x), split = static_cast<int>(blockIdx.z);
  const int tap_of_row = block / column_tiles, line = tap_of_row / product.taps_across;
  const int row_tile = line / product.taps_down;
  const int first_load = split * product.loads_of_split;
  return {row_tile * Shape::kRows,
          (block - tap_of_row * column_tiles) * Shape::kColumns,
          line - row_tile * product.taps_down,
          tap_of_row - line * product.taps_across,
          static_cast<int>(blockIdx.y),
          split,
          first_load,
          min(product.loads_of_split, product.all_loads - first_load)};
}

// Where loads begin, one after the other in the order x, y, image. Stepped, not divided for: one thread asks
// for all loads, each in less time than its products take. A template, so that nvcc does not warn of an
// unused function on sm_80.
template <bool Runs>
struct LoadWalk {
  PixelPlace place;
  PixelPlace step;   // from load to load
  PixelPlace carry;  // y at the end of a line of loads, image at the end of an image
  int end_x, end_y;  // of lines and images, with the whole of their last boxes

  __device__ __forceinline__ void advance() {
    place.x += step.x;
    place.y += step.y;
    place.image += step.image;
    if (place.x >= end_x) {
      place.x -= end_x;
      place.y += carry.y;
    }
    if (place.y >= end_y) {
      place.y -= end_y;
      place.image += carry.image;
    }
  }
};

template <bool Runs>
__device__ __forceinline__ LoadWalk<Runs> walk_from(const BoxedGradient& product, int load) {
  const PixelPlace first = place_of_load(product, load);
  if constexpr (Runs) {
    return {first, place_of_pixel(product, product.run), {1, 1, 0}, product.width, product.height};
  } else {
    const implicit_gemm::Box& box = product.box;
    const int across = (product.width + box.width - 1) / box.width;
    const int down = (product.height + box.height - 1) / box.height;
    return {first, {0, 0, box.width}, {box.images, box.height, 0}, across * box.width, down * box.height};
  }
}

// 64 columns of the input: their first channel, and the lines from a pixel's place to where their tap is.
struct InputSlab {
  int channel, tap_y;
};

template <bool Runs>
__device__ __forceinline__ InputSlab input_slab(const BoxedGradient& product, const Part& part, int column) {
  const int line = product.joined_line > 0 ? column / product.joined_line : 0;
  const int channel = column - line * product.joined_line;
  return {Runs ? part.group * product.columns + channel : channel, (part.r + line) * product.tap_y};
}

// The producer, of runs or of boxes: nothing in its loop divides or asks which they are.
template <typename Shape, bool Runs>
__device__ __forceinline__ void load_tiles(const Ring<Shape>& ring, const TensorMap* a, const TensorMap* b,
                                           const BoxedGradient& product, const Part& part) {
  constexpr int kInputSlabs = Shape::kColumns / 64;
  const int bytes = product.pixels() * (Shape::kRows + Shape::kColumns) / 64 * 128;
  const int tap_x = part.s * product.tap_x;
  InputSlab input[kInputSlabs];
  UNROLL
  for (int i = 0; i < kInputSlabs; ++i) input[i] = input_slab<Runs>(product, part, part.column + 64 * i);
  LoadWalk<Runs> walk = walk_from<Runs>(product, part.first_load);
  RingPosition<Shape::kStages> at;
  for (int load = part.first_load; load < part.first_load + part.loads; ++load) {
    unsigned char* slab = ring.stages + at.stage * Shape::kStageBytes;
    uint64_t* const arrived = &ring.full[at.stage];
    const PixelPlace& place = walk.place;
    const int y = product.first_y + place.y * product.step_y, x = product.first_x + place.x * product.step_x;
    mbarrier_wait(&ring.empty[at.stage], at.parity ^ 1);  // at once in the first round
    mbarrier_arrive_expect_tx(arrived, bytes);
    tally_staged(bytes);
    UNROLL
    for (int row = 0; row < Shape::kRows; row += 64, slab += Shape::kSlabBytes) {
      if constexpr (Runs)
        tma_load_5d(slab, a, arrived, part.row + row, part.group, load * product.run, 0, 0);
      else
        tma_load_5d(slab, a, arrived, part.row + row, part.group, place.x, place.y, place.image);
    }
    UNROLL
    for (int i = 0; i < kInputSlabs; ++i, slab += Shape::kSlabBytes) {
      if constexpr (Runs)
        tma_load_pixels(slab, b, arrived, input[i].channel, x, y, place.image, static_cast<uint16_t>(tap_x),
                        static_cast<uint16_t>(input[i].tap_y));
      else
        tma_load_5d(slab, b, arrived, input[i].channel, part.group, tap_x + x, input[i].tap_y + y,
                    place.image);
    }
    at.advance();
    walk.advance();
  }
}

// Zeros behind the pixels of a box, up to the next whole wgmma step: nobody writes there again.
template <typename Shape>
__device__ __forceinline__ void clear_rest(const Ring<Shape>& ring, const BoxedGradient& product) {
  const int first = product.pixels() * 128;
  const int last = implicit_gemm::steps(product.pixels()) * Shape::kStep * 128;
  for (int slab = 0; slab < Shape::kStages * Shape::kStageBytes; slab += Shape::kSlabBytes)
    for (int byte = first + 16 * static_cast<int>(threadIdx.x); byte < last; byte += 16 * Shape::kThreads)
      *reinterpret_cast<uint4*>(ring.stages + slab + byte) = make_uint4(0, 0, 0, 0);
  fence_proxy_async();  // wgmma reads it
}

// As store_row(), of columns whose taps are joined; `row` points at the first line of the filter.
template <typename Shape, typename Output>
__device__ __forceinline__ void store_joined_row(const float (&sums)[Shape::kColumns / 2], int half,
                                                 Output* row, const BoxedGradient& product, int first) {
  if (!row) return;
  UNROLL
  for (int j = 0; j < Shape::kColumns / 8; ++j) UNROLL
  for (int e = 0; e < 2; ++e) {
    const int column = first + 8 * j + static_cast<int>(threadIdx.x) % 4 * 2 + e;
    const int line = column / product.joined_line, in_line = column - line * product.joined_line;
    const int s = in_line / product.joined_pitch, c = in_line - s * product.joined_pitch;
    if (line < product.joined_lines && s < product.joined_taps && c < product.joined_channels)
      row[int64_t{line} * product.d_tap_line + int64_t{s} * product.d_tap_column +
          int64_t{c} * product.d_column] = static_cast<Output>(sums[4 * j + 2 * half + e]);
  }
}

// `d` is D, or a split's partial sums, which lie alike.
template <typename Shape, typename Output>
__device__ __forceinline__ void store_tile(const Sums<Shape>& sums, Output* d, const BoxedGradient& product,
                                           const Part& part) {
  Output* const first = d + int64_t{part.group} * product.d_group + int64_t{part.row} * product.d_row +
                        int64_t{part.r} * product.d_tap_line + int64_t{part.s} * product.d_tap_column +
                        (product.joined_line > 0 ? 0 : int64_t{part.column} * product.d_column);
  UNROLL
  for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row = row_of<Shape>(i, half);
    Output* const to = part.row + row < product.rows ? first + int64_t{row} * product.d_row : nullptr;
    if (product.joined_line > 0) {
      store_joined_row<Shape>(sums[i], half, to, product, part.column);
      continue;
    }
    store_row<Shape>(sums[i], half, to, product.columns - part.column, product.d_column);
  }
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    hopper_gradient(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                    const __grid_constant__ BoxedGradient product, typename Shape::Stored* __restrict__ d,
                    float* __restrict__ partials) {
  if constexpr (kHopperInstructions) {
    const Ring<Shape> ring = start_ring<Shape>();
    const Part part = part_of_block<Shape>(product);
    clear_rest<Shape>(ring, product);
    __syncthreads();
    if (threadIdx.x >= Shape::kConsumerThreads) {
      if (!elect_lane()) return;
      if (product.run > 0)
        load_tiles<Shape, true>(ring, &a, &b, product, part);
      else
        load_tiles<Shape, false>(ring, &a, &b, product, part);
      return;
    }
    Sums<Shape> sums = {};
    multiply_tiles<Shape>(sums, ring, {part.loads, 0, implicit_gemm::steps(product.pixels())});
    if (partials)
      store_tile<Shape>(sums, partials + part.split * product.d_elements, product, part);
    else
      store_tile<Shape>(sums, d, product, part);
  }
}

template <typename Shape>
TensorMap gradient_map(const BoxedGradient& product, const void* gradient) {
  const implicit_gemm::Box& box = product.box;
  const int lines = product.images * product.height;
  if (product.run > 0)
    return dense_map<Shape, 5>(gradient, product.row_pitch,
                               {{product.rows, Shape::kLine},
                                {product.groups, 1},
                                {lines * product.width, product.run},
                                {1, 1},
                                {1, 1}});
  return dense_map<Shape, 5>(gradient, product.row_pitch,
                             {{product.rows, Shape::kLine},
                              {product.groups, 1},
                              {product.width, box.width},
                              {product.height, box.height},
                              {product.images, box.images}});
}

template <typename Shape>
TensorMap input_map(const BoxedGradient& product, const void* input) {
  const int columns = product.joined_line > 0 ? product.joined_taps * product.joined_pitch : product.columns;
  if (product.run > 0)
    return pixel_map<Shape>(input, product.groups * columns, product.groups * product.column_pitch, product);
  return dense_map<Shape, 5>(input, product.column_pitch,
                             {{columns, Shape::kLine},
                              {product.groups, 1},
                              {product.image_width, product.box.width, product.step_x, product.pixel_pitch},
                              {product.image_height, product.box.height, product.step_y, product.line_pitch},
                              {product.images, product.box.images}});
}

template <typename Shape>
void launch_gradient(const BoxedGradient& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  const TensorMap a = gradient_map<Shape>(product, tensors.a), b = input_map<Shape>(product, tensors.b);
  const dim3 grid(static_cast<unsigned>(tiles(product) / product.groups),
                  static_cast<unsigned>(product.groups), static_cast<unsigned>(product.splits));
  launch(hopper_gradient<Shape>, grid, Shape::kThreads, ring_bytes<Shape>(), queue, a, b, product,
         static_cast<typename Shape::Stored*>(tensors.d), tensors.partials);
}

template <typename Element>
void launch_tile(const BoxedGradient& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  const auto is = [&](int rows, int columns) {
    return product.tile == implicit_gemm::HopperTile{rows, columns};
  };
  if (is(256, 128))
    return launch_gradient<HopperShape<Element, Major::mn, 256, 128, 4, 1>>(product, tensors, queue);
  if (is(128, 128))
    return launch_gradient<HopperShape<Element, Major::mn, 128, 128, 3, 2>>(product, tensors, queue);
  if (is(128, 64))
    return launch_gradient<HopperShape<Element, Major::mn, 128, 64, 4, 2>>(product, tensors, queue);
  throw std::logic_error("there is no kernel of this tile");
}

}  // namespace

void implicit_gemm_hopper_filter(const BoxedGradient& product, const implicit_gemm::Tensors& tensors,
                                 Queue& queue) {
  if (product.math == MathMode::fp16) return launch_tile<__half>(product, tensors, queue);
  launch_tile<__nv_bfloat16>(product, tensors, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS
