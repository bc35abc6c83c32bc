// The transforms between a tensor and planes: tiles -> points, and points -> pixels. A 2-D transform is lines
// along one dimension, an exchange through shared memory, lines along the other. Which tensor, which layout
// and which pass is in the TensorMap alone, so activations, filters and their gradients share two kernels.
//
// A block works on 32 elements at a time: tiles of one lane where tiles are contiguous in the planes, lanes
// of one tile where lanes are. On the side of the planes the 32 are the lanes of a warp, so each plane is
// read and written in whole cache lines. On the side of the tensor a warp runs along its contiguous
// dimension: over the columns of the tiles (NCHW) or over the 32 elements (NHWC). Exchange:
// [line][element][column], an odd number of floats an element, so that neither walk has bank conflicts.
#include "algorithms/winograd/cuda/line_transforms.cuh"
#include "algorithms/winograd/cuda/plane_kernels.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

constexpr int kElements = 32;
constexpr int kThreads = kElements * kLargestAlpha;  // at most one line a thread
constexpr int kRounds = 8;                           // lanes, or groups of 32 of them, a block
constexpr int kLineFloats = kElements * (kLargestAlpha + 1);

// The block's place: 32 tiles of a class from `tile`, or one; lanes from `lane`.
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
__device__ __forceinline__ TileAt tile_at(const TensorMap& map, const TileClass& cls, int tile) {
  const int column = tile % cls.w.count, rest = tile / cls.w.count;
  const int row = rest % cls.h.count, n = rest / cls.h.count;
  const int in_group = n % map.images_stored;
  const int64_t image = static_cast<int64_t>(n / map.images_stored) * map.images + in_group;
  return {tile < cls.tiles && in_group < map.images, image * map.stride_n, cls.h.start + row * cls.h.size,
          cls.w.start + column * cls.w.size};
}
// A lane: its channel and phase.
struct LaneAt {
  bool inside;
  int64_t offset;
  int h, w;
};
__device__ __forceinline__ LaneAt lane_at(const TensorMap& map, int lane) {
  // The usual case has one group and one phase, and no divisions.
  const int group = map.total_lanes == map.lanes_stored ? 0 : lane / map.lanes_stored;
  const int in_group = lane - group * map.lanes_stored;
  const bool inside = lane < map.total_lanes && in_group < map.lanes;
  const int phase = inside && map.lanes != map.channels ? in_group / map.channels : 0;
  const int64_t channel = static_cast<int64_t>(group) * map.channels + in_group - phase * map.channels;
  return {inside, channel * map.stride_c, map.phases[phase].h - map.origin_h,
          map.phases[phase].w - map.origin_w};
}

// What thread `item` does on the tensor's side and on the planes' side of the exchange.
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
  const Item pixel = tensor_item(a.map.stride_w == 1, columns);
  const TileAt tile = tile_at(a.map, at.cls, at.tile + (LanesContiguous ? 0 : pixel.element));
  const int column = a.map.reversed ? columns - 1 - pixel.index : pixel.index;
  const int first_row = a.map.reversed ? rows - 1 : 0, next_row = a.map.reversed ? -1 : 1;
  // Rows of points: thread (element, row), which writes one point of points_w planes.
  const Item row = plane_item();
  const int stored_tile = at.tile + (LanesContiguous ? 0 : row.element);
  float* const row_planes = planes + (at.cls.first + stored_tile) * a.planes_at.tile +
                            static_cast<int64_t>(row.index) * a.points_w * a.planes_at.plane;

  for (int round = 0; round < kRounds; ++round) {
    const int first_lane = at.lane + round * (LanesContiguous ? kElements : 1);
    if (first_lane >= a.map.total_lanes) break;  // the whole block
    if (pixel.index < columns && pixel.element < kElements) {
      const LaneAt lane = lane_at(a.map, first_lane + (LanesContiguous ? pixel.element : 0));
      const int w = (tile.w + column) * a.map.step_w + lane.w;
      const int h = (tile.h + first_row) * a.map.step_h + lane.h, step = next_row * a.map.step_h;
      const bool inside = tile.inside && lane.inside && w >= 0 && w < a.map.w;
      const float* const from = tensor + tile.offset + lane.offset + w * a.map.stride_w;
      with_line<Line>(at.cls.h.alpha, at.cls.h.size, [&]<typename L>() {
        float in[L::kIn], out[L::kOut];
        UNROLL
        for (int i = 0; i < L::kIn; ++i) {
          const int y = h + i * step;
          in[i] = inside && y >= 0 && y < a.map.h ? from[y * a.map.stride_h] : 0.0f;
        }
        L::apply(in, out);
        float* const to = exchange + pixel.element * (columns | 1) + pixel.index;
        UNROLL
        for (int i = 0; i < L::kOut; ++i) to[i * kLineFloats] = out[i];
      });
    }
    __syncthreads();
    const int lane = first_lane + (LanesContiguous ? row.element : 0);
    if (row.index < at.cls.h.alpha && stored_tile < align_plane(at.cls.tiles) && lane < a.map.total_lanes) {
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

// The mirror image: rows of points first, from the planes; then columns, into the tensor.
template <bool LanesContiguous>
__global__ void __launch_bounds__(kThreads)
    inverse_kernel(const TileTransform a, const float* planes, float* tensor, int blocks_along_tiles) {
  __shared__ float exchange[kLargestAlpha * kLineFloats];
  const Place at = block_place<LanesContiguous>(a, blocks_along_tiles);
  const int columns = at.cls.w.size;

  const Item row = plane_item();
  const int stored_tile = at.tile + (LanesContiguous ? 0 : row.element);
  const float* const row_planes = planes + (at.cls.first + stored_tile) * a.planes_at.tile +
                                  static_cast<int64_t>(row.index) * a.points_w * a.planes_at.plane;
  const Item pixel = tensor_item(a.map.stride_w == 1, columns);
  const TileAt tile = tile_at(a.map, at.cls, at.tile + (LanesContiguous ? 0 : pixel.element));

  for (int round = 0; round < kRounds; ++round) {
    const int first_lane = at.lane + round * (LanesContiguous ? kElements : 1);
    if (first_lane >= a.map.total_lanes) break;  // the whole block
    const int stored_lane = first_lane + (LanesContiguous ? row.element : 0);
    if (row.index < at.cls.h.alpha && stored_tile < at.cls.tiles && stored_lane < a.map.total_lanes) {
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
      const LaneAt lane = lane_at(a.map, first_lane + (LanesContiguous ? pixel.element : 0));
      const int w = (tile.w + pixel.index) * a.map.step_w + lane.w;
      const int h = tile.h * a.map.step_h + lane.h;
      const bool inside = tile.inside && lane.inside && w >= 0 && w < a.map.w;
      float* const to = tensor + tile.offset + lane.offset + w * a.map.stride_w;
      const float* const from = exchange + pixel.element * (columns | 1) + pixel.index;
      // Of pixels outside nobody has written the lines.
      if (inside)
        with_line<InterpolateLine>(at.cls.h.alpha, at.cls.h.size, [&]<typename L>() {
          float in[L::kIn], out[L::kOut];
          UNROLL
          for (int i = 0; i < L::kIn; ++i) in[i] = from[i * kLineFloats];
          L::apply(in, out);
          UNROLL
          for (int i = 0; i < L::kOut; ++i) {
            const int y = h + i * a.map.step_h;
            if (y >= 0 && y < a.map.h) to[y * a.map.stride_h] = out[i];
          }
        });
    }
    __syncthreads();
  }
}

// Numbers the blocks along the tiles and returns how many there are.
int number_blocks(TileTransform& what) {
  const int tiles_each = what.lanes_contiguous ? 1 : kElements;
  int blocks = 0;
  for (int i = 0; i < what.classes.count; ++i) {
    what.classes.at[i].first_block = blocks;
    blocks += (align_plane(what.classes.at[i].tiles) + tiles_each - 1) / tiles_each;
  }
  return blocks;
}
unsigned grid(const TileTransform& what, int blocks_along_tiles) {
  const int lanes_each = kRounds * (what.lanes_contiguous ? kElements : 1);
  return static_cast<unsigned>(blocks_along_tiles) *
         static_cast<unsigned>((what.map.total_lanes + lanes_each - 1) / lanes_each);
}

}  // namespace

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

void invert_tiles(const TileTransform& what, const float* planes, float* tensor, Queue& queue) {
  TileTransform numbered = what;
  const int blocks = number_blocks(numbered);
  const auto kernel = what.lanes_contiguous ? inverse_kernel<true> : inverse_kernel<false>;
  launch(kernel, grid(what, blocks), kThreads, 0, queue, numbered, planes, tensor, blocks);
}

}  // namespace convscope::CONVSCOPE_KERNELS
