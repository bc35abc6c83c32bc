// The transforms between a tensor and planes: tiles to points, and points to outputs. A 2-D transform is
// lines along one dimension, an exchange through shared memory, lines along the other. Which tensor, layout
// and pass it is stands in the TensorAddressing alone, so activations, filters and their gradients share two
// kernels.
//
// A block works on 32 elements at a time: tiles of one lane where tiles are contiguous in the planes, lanes
// of one tile where lanes are. On the side of the planes the 32 are the lanes of a warp, so each plane is
// read and written in whole cache lines. On the side of the tensor a warp runs along its contiguous
// dimension: over the columns of the tiles (NCHW) or over the 32 elements (NHWC). Exchange:
// [line][element][column], an odd number of floats per element, so that neither order has bank conflicts.
#include "algorithms/winograd/cuda/line_transforms.cuh"
#include "algorithms/winograd/cuda/plane_kernels.hpp"
#include "algorithms/winograd/line_costs.hpp"
#include "bench/algorithm/epilogue.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

constexpr int kElements = 32;
constexpr int kThreads = kElements * kLargestAlpha;  // at most one line per thread
constexpr int kRounds = 8;                           // lanes, or groups of 32 of them, per block
constexpr int kLineFloats = kElements * (kLargestAlpha + 1);

// What the block works on: 32 tiles of a class from `tile`, or one; lanes from `lane`.
struct Place {
  TileClass cls;
  int tile, lane;
};
template <bool LanesContiguous>
__device__ __forceinline__ Place block_place(const TileTransform& a, int blocks_along_tiles) {
  const int block = static_cast<int>(blockIdx.x) % blocks_along_tiles;
  const int rest = static_cast<int>(blockIdx.x) / blocks_along_tiles;
  int number = 0;
  while (number + 1 < a.classes.count && block >= a.classes.at[number + 1].first_block) ++number;
  const TileClass& cls = a.classes.at[number];
  if constexpr (LanesContiguous) return {cls, block - cls.first_block, rest * kRounds * kElements};
  return {cls, (block - cls.first_block) * kElements, rest * kRounds};
}

// A tile of the class in the tensor: its image and its first output.
struct TileAt {
  bool inside;
  int64_t offset;
  int h, w;
};
__device__ __forceinline__ TileAt tile_at(const TensorAddressing& tensor, const TileClass& cls, int tile) {
  const int column = tile % cls.w.count, rest = tile / cls.w.count;
  const int row = rest % cls.h.count, n = rest / cls.h.count;
  const int in_group = n % tensor.images_stored;
  const int64_t image = static_cast<int64_t>(n / tensor.images_stored) * tensor.images + in_group;
  return {tile < cls.tiles && in_group < tensor.images, image * tensor.stride_n,
          cls.h.start + row * cls.h.size, cls.w.start + column * cls.w.size};
}
// A lane in the tensor: its channel, that one's offset, and its residue.
struct LaneAt {
  bool inside;
  int64_t channel, offset;
  int h, w;
};
__device__ __forceinline__ LaneAt lane_at(const TensorAddressing& tensor, int lane) {
  // The usual case has one channel group and one residue, and no divisions.
  const int group = tensor.total_lanes == tensor.lanes_stored ? 0 : lane / tensor.lanes_stored;
  const int in_group = lane - group * tensor.lanes_stored;
  const bool inside = lane < tensor.total_lanes && in_group < tensor.lanes;
  const int residue = inside && tensor.lanes != tensor.channels ? in_group / tensor.channels : 0;
  const int64_t channel =
      static_cast<int64_t>(group) * tensor.channels + in_group - residue * tensor.channels;
  return {inside, channel, channel * tensor.stride_c, tensor.residues[residue].h - tensor.origin_h,
          tensor.residues[residue].w - tensor.origin_w};
}

// Which element and column (or row) this thread handles on the tensor's side and on the planes' side of the
// exchange.
struct Item {
  int element, index;
};
__device__ __forceinline__ Item tensor_item(bool along_columns, int columns) {
  const int t = static_cast<int>(threadIdx.x);
  if (along_columns) return {t / columns, t % columns};
  return {t % kElements, t / kElements};
}
__device__ __forceinline__ Item plane_item() {
  return {static_cast<int>(threadIdx.x) % kElements, static_cast<int>(threadIdx.x) / kElements};
}

template <template <int, int> class Line, bool LanesContiguous>
__global__ void __launch_bounds__(kThreads)
    transform_kernel(const TileTransform a, const float* tensor, float* planes, int blocks_along_tiles) {
  __shared__ float exchange[kLargestAlpha * kLineFloats];
  constexpr bool kData = std::is_same_v<Line<1, 1>, DataLine<1, 1>>;
  const Place at = block_place<LanesContiguous>(a, blocks_along_tiles);
  const int rows = kData ? at.cls.h.alpha : at.cls.h.size, columns = kData ? at.cls.w.alpha : at.cls.w.size;

  // Columns of the tile: thread (element, column), which reads down the tensor.
  const Item pixel = tensor_item(a.addressing.stride_w == 1, columns);
  const TileAt tile = tile_at(a.addressing, at.cls, at.tile + (LanesContiguous ? 0 : pixel.element));
  const int column = a.addressing.reversed ? columns - 1 - pixel.index : pixel.index;
  const int first_row = a.addressing.reversed ? rows - 1 : 0, next_row = a.addressing.reversed ? -1 : 1;
  // Rows of points: thread (element, row), which writes one point of points_w planes.
  const Item row = plane_item();
  const int stored_tile = at.tile + (LanesContiguous ? 0 : row.element);
  float* const row_planes = planes + (at.cls.first + stored_tile) * a.planes_at.tile +
                            static_cast<int64_t>(row.index) * a.points_w * a.planes_at.plane;

  for (int round = 0; round < kRounds; ++round) {
    const int first_lane = at.lane + round * (LanesContiguous ? kElements : 1);
    if (first_lane >= a.addressing.total_lanes) break;  // the whole block
    if (pixel.index < columns && pixel.element < kElements) {
      const LaneAt lane = lane_at(a.addressing, first_lane + (LanesContiguous ? pixel.element : 0));
      const int w = (tile.w + column) * a.addressing.step_w + lane.w;
      const int h = (tile.h + first_row) * a.addressing.step_h + lane.h,
                step = next_row * a.addressing.step_h;
      const bool inside = tile.inside && lane.inside && w >= 0 && w < a.addressing.w;
      const float* const from = tensor + tile.offset + lane.offset + w * a.addressing.stride_w;
      with_line<Line>(at.cls.h.alpha, at.cls.h.size, [&]<typename L>() {
        float in[L::kIn], out[L::kOut];
        UNROLL
        for (int i = 0; i < L::kIn; ++i) {
          const int y = h + i * step;
          in[i] = inside && y >= 0 && y < a.addressing.h ? from[y * a.addressing.stride_h] : 0.0f;
        }
        L::apply(in, out);
        float* const to = exchange + pixel.element * (columns | 1) + pixel.index;
        UNROLL
        for (int i = 0; i < L::kOut; ++i) to[i * kLineFloats] = out[i];
      });
    }
    __syncthreads();
    const int lane = first_lane + (LanesContiguous ? row.element : 0);
    if (row.index < at.cls.h.alpha && stored_tile < align_plane(at.cls.tiles) &&
        lane < a.addressing.total_lanes) {
      float* to = row_planes + lane * a.planes_at.lane;
      const float* const from = exchange + row.index * kLineFloats + row.element * (columns | 1);
      with_line<Line>(at.cls.w.alpha, at.cls.w.size, [&]<typename L>() {
        float in[L::kIn], out[L::kOut];
        UNROLL
        for (int j = 0; j < L::kIn; ++j) in[j] = from[j];
        L::apply(in, out);
        UNROLL
        for (int j = 0; j < L::kOut; ++j, to += a.planes_at.plane) *to = out[j];
      });
    }
    __syncthreads();
  }
}

// The inverse of transform_kernel: rows of points first, from the planes; then columns, into the tensor.
// Finishes: with an epilogue.
template <bool LanesContiguous, bool Finishes>
__global__ void __launch_bounds__(kThreads)
    inverse_kernel(const TileTransform a, const float* planes, float* tensor, int blocks_along_tiles,
                   Finish finish) {
  __shared__ float exchange[kLargestAlpha * kLineFloats];
  const Place at = block_place<LanesContiguous>(a, blocks_along_tiles);
  const int columns = at.cls.w.size;

  const Item row = plane_item();
  const int stored_tile = at.tile + (LanesContiguous ? 0 : row.element);
  const float* const row_planes = planes + (at.cls.first + stored_tile) * a.planes_at.tile +
                                  static_cast<int64_t>(row.index) * a.points_w * a.planes_at.plane;
  const Item pixel = tensor_item(a.addressing.stride_w == 1, columns);
  const TileAt tile = tile_at(a.addressing, at.cls, at.tile + (LanesContiguous ? 0 : pixel.element));

  for (int round = 0; round < kRounds; ++round) {
    const int first_lane = at.lane + round * (LanesContiguous ? kElements : 1);
    if (first_lane >= a.addressing.total_lanes) break;  // the whole block
    const int stored_lane = first_lane + (LanesContiguous ? row.element : 0);
    if (row.index < at.cls.h.alpha && stored_tile < at.cls.tiles && stored_lane < a.addressing.total_lanes) {
      const float* const from = row_planes + stored_lane * a.planes_at.lane;
      with_line<InterpolateLine>(at.cls.w.alpha, at.cls.w.size, [&]<typename L>() {
        float in[L::kIn], out[L::kOut];
        UNROLL
        for (int j = 0; j < L::kIn; ++j) in[j] = from[j * a.planes_at.plane];
        for (int s = 1; s < a.splits; ++s) {
          UNROLL
          for (int j = 0; j < L::kIn; ++j) in[j] += from[s * a.split + j * a.planes_at.plane];
        }
        L::apply(in, out);
        float* const to = exchange + row.index * kLineFloats + row.element * (columns | 1);
        UNROLL
        for (int j = 0; j < L::kOut; ++j) to[j] = out[j];
      });
    }
    __syncthreads();
    if (pixel.index < columns && pixel.element < kElements) {
      const LaneAt lane = lane_at(a.addressing, first_lane + (LanesContiguous ? pixel.element : 0));
      const int w = (tile.w + pixel.index) * a.addressing.step_w + lane.w;
      const int h = tile.h * a.addressing.step_h + lane.h;
      const bool inside = tile.inside && lane.inside && w >= 0 && w < a.addressing.w;
      float* const to = tensor + tile.offset + lane.offset + w * a.addressing.stride_w;
      const float* const from = exchange + pixel.element * (columns | 1) + pixel.index;
      // The lines of pixels outside were not written.
      if (inside)
        with_line<InterpolateLine>(at.cls.h.alpha, at.cls.h.size, [&]<typename L>() {
          float in[L::kIn], out[L::kOut];
          UNROLL
          for (int i = 0; i < L::kIn; ++i) in[i] = from[i * kLineFloats];
          L::apply(in, out);
          if constexpr (Finishes) finish_all(out, at_channel(finish, static_cast<int>(lane.channel)));
          UNROLL
          for (int i = 0; i < L::kOut; ++i) {
            const int y = h + i * a.addressing.step_h;
            if (y >= 0 && y < a.addressing.h) to[y * a.addressing.stride_h] = out[i];
          }
        });
    }
    __syncthreads();
  }
}

// Numbers the blocks along the tiles, returns how many there are.
int number_blocks(TileTransform& what) {
  const int tiles_each = what.lanes_contiguous ? 1 : kElements;
  int blocks = 0;
  for (int i = 0; i < what.classes.count; ++i) {
    what.classes.at[i].first_block = blocks;
    blocks += narrow(ceil_div(align_plane(what.classes.at[i].tiles), tiles_each));
  }
  return blocks;
}
unsigned grid(const TileTransform& what, int blocks_along_tiles) {
  const int lanes_each = kRounds * (what.lanes_contiguous ? kElements : 1);
  return static_cast<unsigned>(blocks_along_tiles) *
         static_cast<unsigned>(ceil_div(what.addressing.total_lanes, lanes_each));
}

// Pixels of a class along w that lie inside the tensor, over all residues.
int64_t columns_inside(const TensorAddressing& tensor, const ClassAxis& w) {
  int64_t inside = 0;
  for (int residue = 0; residue < tensor.lanes / tensor.channels; ++residue)
    for (int i = 0; i < w.count * w.size; ++i) {
      const int x = (w.start + i) * tensor.step_w + tensor.residues[residue].w - tensor.origin_w;
      inside += x >= 0 && x < tensor.w ? 1 : 0;
    }
  return inside;
}

}  // namespace

// Columns of the tiles are computed for whole groups of kElements, rows of points for what the planes store.
double transform_tiles_flops(TileOperand operand, const TileTransform& what) {
  const LineCosts& costs = line_costs();
  const bool data = operand == TileOperand::data;
  const auto line = [&](const ClassAxis& axis) {
    return data ? costs.data[axis.alpha] : costs.evaluate[axis.alpha][axis.size];
  };
  const int64_t lanes = what.addressing.total_lanes;
  double flops = 0;
  for (int i = 0; i < what.classes.count; ++i) {
    const TileClass& cls = what.classes.at[i];
    const int64_t tiles = align_plane(cls.tiles), columns = data ? cls.w.alpha : cls.w.size;
    const int64_t elements =
        what.lanes_contiguous ? tiles * round_up(lanes, kElements) : round_up(tiles, kElements) * lanes;
    flops +=
        static_cast<double>(elements * columns * line(cls.h) + tiles * lanes * cls.h.alpha * line(cls.w));
  }
  return flops;
}

// Rows of points are computed for all stored lanes, columns for pixels inside the tensor.
double invert_tiles_flops(const TileTransform& what) {
  const LineCosts& costs = line_costs();
  const TensorAddressing& tensor = what.addressing;
  const int64_t groups = tensor.total_lanes / tensor.lanes_stored;
  double flops = 0;
  for (int i = 0; i < what.classes.count; ++i) {
    const TileClass& cls = what.classes.at[i];
    const int64_t images = cls.tiles / (cls.h.count * cls.w.count) / tensor.images_stored * tensor.images;
    const int64_t columns = images * cls.h.count * columns_inside(tensor, cls.w) * tensor.channels * groups;
    flops += static_cast<double>(int64_t{cls.tiles} * tensor.total_lanes * cls.h.alpha *
                                     costs.interpolate[cls.w.alpha][cls.w.size] +
                                 columns * costs.interpolate[cls.h.alpha][cls.h.size]);
  }
  return flops;
}

void transform_tiles(TileOperand operand, const TileTransform& what, const float* tensor, float* planes,
                     Queue& queue) {
  TileTransform numbered = what;
  const int blocks = number_blocks(numbered);
  const bool data = operand == TileOperand::data;
  const auto kernel =
      what.lanes_contiguous
          ? (data ? transform_kernel<DataLine, true> : transform_kernel<EvaluateLine, true>)
          : (data ? transform_kernel<DataLine, false> : transform_kernel<EvaluateLine, false>);
  launch(kernel, grid(what, blocks), kThreads, 0, queue, numbered, tensor, planes, blocks);
}

void invert_tiles(const TileTransform& what, const float* planes, float* tensor, Queue& queue,
                  Epilogue epilogue, const float* bias) {
  TileTransform numbered = what;
  const int blocks = number_blocks(numbered);
  const bool lanes = what.lanes_contiguous;
  const auto kernel = epilogue == Epilogue::none
                          ? (lanes ? inverse_kernel<true, false> : inverse_kernel<false, false>)
                          : (lanes ? inverse_kernel<true, true> : inverse_kernel<false, true>);
  launch(kernel, grid(what, blocks), kThreads, 0, queue, numbered, planes, tensor, blocks,
         finish_of(epilogue, bias));
}

}  // namespace convscope::CONVSCOPE_KERNELS
