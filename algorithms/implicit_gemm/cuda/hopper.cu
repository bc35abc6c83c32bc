// Hopper, forward and backward-data: a stage is a tap and 128 bytes of channels, a run or a box of A's pixels
// and lines of B, both K-major. What those are: boxed_product.hpp; the ring and the products:
// hopper_ring.hpp.
#include <stdexcept>

#include "algorithms/implicit_gemm/cuda/hopper_ring.hpp"
#include "bench/algorithm/epilogue.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using implicit_gemm::BoxedProduct;
using implicit_gemm::HopperTile;

// What a block computes: a load of pixels, its first pixel, its first column, its group.
struct Place {
  int load;
  PixelPlace pixel;
  int column, group;
};

template <typename Shape>
__device__ __forceinline__ Place place_of_block(const BoxedProduct& product) {
  const int column_tiles = (product.columns + Shape::kColumns - 1) / Shape::kColumns;
  const int block = static_cast<int>(blockIdx.x), load = block / column_tiles;
  return {load, place_of_load(product, load), (block - load * column_tiles) * Shape::kColumns,
          static_cast<int>(blockIdx.y)};
}

// The pixel of a row of the tile; of an image behind the last where there is none.
template <typename Shape>
__device__ __forceinline__ PixelPlace place_of_row(const BoxedProduct& product, const Place& place, int row) {
  if (product.run > 0) return place_of_pixel(product, place.load * product.run + row);
  const int line = row / product.box.width, image = line / product.box.height;
  const PixelPlace pixel{place.pixel.image + image, place.pixel.y + line - image * product.box.height,
                         place.pixel.x + row - line * product.box.width};
  const bool inside = image < product.box.images && pixel.y < product.height && pixel.x < product.width;
  return inside ? pixel : PixelPlace{product.images, 0, 0};
}

template <typename Shape>
__device__ __forceinline__ void load_tiles(const Ring<Shape>& ring, const TensorMap* a, const TensorMap* b,
                                           const BoxedProduct& product) {
  const Place place = place_of_block<Shape>(product);
  const int bytes = product.pixels() * 128 + Shape::kBBytes;
  const int step_y = place.pixel.y * product.step_y, step_x = place.pixel.x * product.step_x;
  RingPosition<Shape::kStages> at;
  for (int r = 0; r < product.taps_down; ++r)
    for (int s = 0; s < product.taps_across; ++s)
      for (int channel = 0; channel < product.channels; channel += Shape::kLine) {
        unsigned char* const stage = ring.stages + at.stage * Shape::kStageBytes;
        uint64_t* const arrived = &ring.full[at.stage];
        mbarrier_wait(&ring.empty[at.stage], at.parity ^ 1);  // at once in the first round
        mbarrier_arrive_expect_tx(arrived, bytes);
        tally_staged(bytes);
        const int tap_y = product.first_y + r * product.tap_y, tap_x = product.first_x + s * product.tap_x;
        if (product.run > 0) {
          const int lower_y = product.lower_y(), lower_x = product.lower_x();
          tma_load_pixels(stage, a, arrived, place.group * product.channels + channel, lower_x + step_x,
                          lower_y + step_y, place.pixel.image, static_cast<uint16_t>(tap_x - lower_x),
                          static_cast<uint16_t>(tap_y - lower_y));
        } else {
          tma_load_5d(stage, a, arrived, channel, place.group, tap_x + step_x, tap_y + step_y,
                      place.pixel.image);
        }
        tma_load_4d(stage + Shape::kABytes, b, arrived, channel,
                    product.first_tap + r * product.tap_line + s * product.tap_column, place.column,
                    place.group);
        at.advance();
      }
}

// Columns are output channels: 8j + 2t and 8j + 2t + 1 in sums[4j] and on, as in store_row().
template <typename Shape>
__device__ __forceinline__ void finish_tile(Sums<Shape>& sums, const BoxedProduct& product,
                                            const Finish& finish) {
  const Place place = place_of_block<Shape>(product);
  const int column = place.column + static_cast<int>(threadIdx.x) % 4 * 2, left = product.columns - column;
  Finish here = finish;  // from the thread's first channel on
  if (here.bias != nullptr) here.bias += place.group * product.columns + column;
  UNROLL
  for (int j = 0; j < Shape::kColumns / 8; ++j) UNROLL
  for (int e = 0; e < 2; ++e) {
    if (8 * j + e >= left) continue;
    const ChannelFinish all = at_channel(here, 8 * j + e);
    UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
    for (int half = 0; half < 2; ++half) {
      float& sum = sums[i][4 * j + 2 * half + e];
      sum = finished(sum, all);
    }
  }
}

template <typename Shape>
__device__ __forceinline__ void store_tile(const Sums<Shape>& sums, typename Shape::Stored* d,
                                           const BoxedProduct& product) {
  const Place place = place_of_block<Shape>(product);
  typename Shape::Stored* const first =
      d + product.d_base + int64_t{place.group} * product.d_group + int64_t{place.column} * product.d_column;
  UNROLL
  for (int i = 0; i < Shape::kRowTiles; ++i) UNROLL
  for (int half = 0; half < 2; ++half) {
    const PixelPlace at = place_of_row<Shape>(product, place, row_of<Shape>(i, half));
    typename Shape::Stored* const to = first + int64_t{at.image} * product.d_image +
                                       int64_t{at.y} * product.d_line + int64_t{at.x} * product.d_pixel;
    store_row<Shape>(sums[i], half, at.image < product.images ? to : nullptr, product.columns - place.column,
                     product.d_column);
  }
}

// Lines of 128 bytes for each tap; the last one's steps without channels are left out.
template <typename Shape>
__device__ __forceinline__ Stages stages_of(const BoxedProduct& product) {
  const int before_last = product.channels - 1;
  return {product.taps_down * product.taps_across, before_last / Shape::kLine,
          before_last % Shape::kLine / Shape::kStep + 1};
}

// kFinishes: with an epilogue.
template <typename Shape, bool kFinishes>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    hopper_product(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                   const __grid_constant__ BoxedProduct product, typename Shape::Stored* __restrict__ d,
                   Finish finish) {
  if constexpr (kHopperInstructions) {
    const Ring<Shape> ring = start_ring<Shape>();
    __syncthreads();
    if (threadIdx.x >= Shape::kConsumerThreads) {
      if (elect_lane()) load_tiles<Shape>(ring, &a, &b, product);
      return;
    }
    Sums<Shape> sums = {};
    multiply_tiles<Shape>(sums, ring, stages_of<Shape>(product));
    if constexpr (kFinishes) finish_tile<Shape>(sums, product, finish);
    store_tile<Shape>(sums, d, product);
  }
}

template <typename Shape>
TensorMap image_map(const BoxedProduct& product, const void* image) {
  if (product.run > 0)
    return pixel_map<Shape>(image, product.groups * product.channels, product.groups * product.channel_pitch,
                            product);
  return dense_map<Shape, 5>(image, product.channel_pitch,
                             {{product.channels, Shape::kLine},
                              {product.groups, 1},
                              {product.image_width, product.box.width, product.step_x, product.pixel_pitch},
                              {product.image_height, product.box.height, product.step_y, product.line_pitch},
                              {product.images, product.box.images}});
}

template <typename Shape>
void launch_hopper(const BoxedProduct& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  const TensorMap a = image_map<Shape>(product, tensors.a);
  const TensorMap b = dense_map<Shape, 4>(tensors.b, product.channel_pitch,
                                          {{product.channels, Shape::kLine},
                                           {product.filter_taps, 1},
                                           {product.columns, Shape::kColumns},
                                           {product.groups, 1}});
  const int64_t column_tiles = ceil_div(product.columns, Shape::kColumns);
  const dim3 grid(static_cast<unsigned>(loads(product) * column_tiles),
                  static_cast<unsigned>(product.groups));
  auto kernel = hopper_product<Shape, false>;
  if constexpr (std::is_same_v<typename Shape::Stored, float>)
    if (product.epilogue != Epilogue::none) kernel = hopper_product<Shape, true>;
  launch(kernel, grid, Shape::kThreads, ring_bytes<Shape>(), queue, a, b, product,
         static_cast<typename Shape::Stored*>(tensors.d), finish_of(product.epilogue, tensors.bias));
}

template <typename Element>
void launch_tile(const BoxedProduct& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  const auto is = [&](int rows, int columns) { return product.tile == HopperTile{rows, columns}; };
  if (is(256, 128))
    return launch_hopper<HopperShape<Element, Major::k, 256, 128, 4, 1>>(product, tensors, queue);
  if (is(128, 128))
    return launch_hopper<HopperShape<Element, Major::k, 128, 128, 3, 2>>(product, tensors, queue);
  if (is(128, 64))
    return launch_hopper<HopperShape<Element, Major::k, 128, 64, 4, 2>>(product, tensors, queue);
  if (is(256, 96))
    return launch_hopper<HopperShape<Element, Major::k, 256, 96, 5, 1>>(product, tensors, queue);
  if (is(128, 96))
    return launch_hopper<HopperShape<Element, Major::k, 128, 96, 4, 2>>(product, tensors, queue);
  if (is(128, 192))
    return launch_hopper<HopperShape<Element, Major::k, 128, 192, 5, 1>>(product, tensors, queue);
  throw std::logic_error("there is no kernel of this tile");
}

}  // namespace

void implicit_gemm_hopper(const BoxedProduct& product, const implicit_gemm::Tensors& tensors, Queue& queue) {
  if (product.math == MathMode::tf32) return launch_tile<Tf32>(product, tensors, queue);
  if (product.math == MathMode::fp16) return launch_tile<__half>(product, tensors, queue);
  launch_tile<__nv_bfloat16>(product, tensors, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS
