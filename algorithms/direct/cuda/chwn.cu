// direct.chwn.cuda, forward and backward-data, in cuda-convnet's layout: images lie innermost, so a block
// takes one written pixel, 64 channels and 128 images, and every load is of neighbours, whatever the stride.
// Taps on padding are left out, not multiplied by zero. Slabs of 8 rows of the depth come through a ring in
// shared memory, one barrier per slab. Design: README.md.
#include <map>

#include "algorithms/common/register_tile.cuh"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/tally.hpp"
#include "algorithms/direct/cuda/packed_filter.cuh"
#include "bench/algorithm/epilogue.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

struct ChwnTile {
  static constexpr int kChannels = 64, kImages = 128, kDepth = 8, kThreads = 128;
  static constexpr int kBlocks = 4;  // per multiprocessor: 128 registers
  static constexpr int kStages = 4, kStageFloats = kDepth * (kChannels + kImages);
};

// Strides are elements; the images' is 1.
struct ChwnArgs {
  const float* read;
  const float* filter;
  float* written;
  int64_t read_c, read_h, read_w;
  int64_t written_k, written_h, written_w;
  int64_t next_tap;  // from past the last channel of a tap to the first of the next one in its row
  int read_height, read_width, batch;
  int read_channels, written_channels;  // of one group
  int channel_tiles;
  direct::AxisResidue y, x;
  Finish finish;
};

// The first tap inside the tensor and one past the last: those with 0 <= first + i * step < size.
__device__ int2 tap_range(const direct::AxisResidue& axis, int u, int size) {
  const int first = u * axis.read_step + axis.first_read;
  int low = first < 0 ? (-first + axis.read_tap_step - 1) / axis.read_tap_step : 0;
  int high = first < size ? (size - 1 - first) / axis.read_tap_step + 1 : 0;
  high = min(high, axis.taps);
  low = min(low, high);
  return make_int2(low, high);
}

// One row of the product's depth, which runs over the taps inside and, in each, the read channels: where it
// lies in both operands.
class DepthRow {
 public:
  __device__ __forceinline__ DepthRow(const ChwnArgs& a, const float* read, const float* filter, int columns)
      : image_(read),
        filter_(filter),
        channel_(0),
        columns_(columns),
        column_(columns),
        next_row_(a.y.read_tap_step * a.read_h - columns * (a.x.read_tap_step * a.read_w)),
        filter_next_row_(int64_t{a.x.taps - columns} * a.read_channels * ChwnTile::kChannels) {}
  __device__ __forceinline__ void advance(const ChwnArgs& a, int rows) {
    channel_ += rows;
    image_ += rows * a.read_c;
    filter_ += rows * ChwnTile::kChannels;
    while (channel_ >= a.read_channels) {
      channel_ -= a.read_channels;
      image_ += a.next_tap;
      if (--column_ > 0) continue;
      column_ = columns_;
      image_ += next_row_;
      filter_ += filter_next_row_;
    }
  }
  __device__ __forceinline__ const float* image() const { return image_; }
  __device__ __forceinline__ const float* filter() const { return filter_; }

 private:
  const float *image_, *filter_;
  int channel_;
  int columns_, column_;  // taps of a row that are inside, and those that are left
  int64_t next_row_, filter_next_row_;
};

// kFours: the batch is a multiple of 4, so that images are copied and written 16 bytes at a time. kFinishes:
// applies an epilogue.
template <bool kFours, bool kFinishes>
__global__ void __launch_bounds__(ChwnTile::kThreads, ChwnTile::kBlocks)
    chwn(const __grid_constant__ ChwnArgs a) {
  using T = ChwnTile;
  constexpr int kPrefetchStages = T::kStages - 1;
  __shared__ __align__(16) float ring[T::kStages * T::kStageFloats];  // of a stage: channels, then images
  const int thread = static_cast<int>(threadIdx.x);
  const int u = static_cast<int>(blockIdx.x) / a.x.extent, v = static_cast<int>(blockIdx.x) % a.x.extent;
  const int group = static_cast<int>(blockIdx.y) / a.channel_tiles;
  const int n0 = static_cast<int>(blockIdx.z) * T::kImages;
  const int2 rows = tap_range(a.y, u, a.read_height), columns = tap_range(a.x, v, a.read_width);
  const int depth = (rows.y - rows.x) * (columns.y - columns.x) * a.read_channels;

  // Sixteen threads copy a row of a slab: four channels each, and images from `lane` on.
  const int row = thread / 16, lane = thread % 16 * (kFours ? 4 : 1);
  const int images = a.batch - n0 - lane;
  const int64_t first_tap = (u * a.y.read_step + a.y.first_read + rows.x * a.y.read_tap_step) * a.read_h +
                            (v * a.x.read_step + a.x.first_read + columns.x * a.x.read_tap_step) * a.read_w;
  DepthRow at(a, a.read + static_cast<int64_t>(group) * a.read_channels * a.read_c + first_tap + n0 + lane,
              a.filter +
                  ((static_cast<int64_t>(blockIdx.y) * a.y.taps + rows.x) * a.x.taps + columns.x) *
                      a.read_channels * T::kChannels +
                  thread % 16 * 4,
              columns.y - columns.x);
  if (row < depth) at.advance(a, row);
  const auto load = [&](float* slab, int left) {
    if (left > row) {
      cp_async<16>(slab + row * T::kChannels + thread % 16 * 4, at.filter(), 16);
      float* const to = slab + T::kDepth * T::kChannels + row * T::kImages + lane;
      UNROLL
      for (int n = 0; n < (kFours ? 2 : 8); ++n) {
        constexpr int kStep = kFours ? 64 : 16, kBytes = kFours ? 16 : 4;
        cp_async<kBytes>(to + n * kStep, at.image() + n * kStep, images > n * kStep ? kBytes : 0);
      }
      at.advance(a, T::kDepth);
    } else if (left > 0) {
      // Rows past the last one are zeros.
      const float4 zeros = make_float4(0, 0, 0, 0);
      *reinterpret_cast<float4*>(slab + row * T::kChannels + thread % 16 * 4) = zeros;
      float* const to = slab + T::kDepth * T::kChannels + row * T::kImages + thread % 16 * 4;
      *reinterpret_cast<float4*>(to) = zeros;
      *reinterpret_cast<float4*>(to + 64) = zeros;
    }
    tally_staged(left > 0 ? T::kDepth * (T::kChannels + T::kImages) / T::kThreads * int64_t{sizeof(float)}
                          : 0);
    cp_async_commit_group();
  };
  UNROLL
  for (int stage = 0; stage < kPrefetchStages; ++stage)
    load(ring + stage * T::kStageFloats, depth - stage * T::kDepth);

  const Corner corner_at = corner<T::kImages>();
  float sums[8][8] = {};
  int now = 0, next = kPrefetchStages * T::kStageFloats;  // where the slabs of this round begin in the ring
  for (int left = depth; left > 0; left -= T::kDepth) {
    cp_async_wait_group<kPrefetchStages - 1>();
    __syncthreads();  // all threads see this slab and have finished the one before
    load(ring + next, left - kPrefetchStages * T::kDepth);
    const float* const slab = ring + now;
    multiply_slab<T::kChannels, T::kImages, T::kDepth, T::kChannels, T::kImages>(
        slab + corner_at.m, slab + T::kDepth * T::kChannels + corner_at.n, sums);
    tally_product(2 * 8 * 8 * T::kDepth);
    next = now;
    now = now == kPrefetchStages * T::kStageFloats ? 0 : now + T::kStageFloats;
  }

  const int first_k = static_cast<int>(blockIdx.y) % a.channel_tiles * T::kChannels + corner_at.m;
  const int first_image = n0 + corner_at.n;
  float* const out = a.written + (static_cast<int64_t>(group) * a.written_channels + first_k) * a.written_k +
                     static_cast<int64_t>(a.y.written_first + u * a.y.written_step) * a.written_h +
                     static_cast<int64_t>(a.x.written_first + v * a.x.written_step) * a.written_w +
                     first_image;
  UNROLL
  for (int i = 0; i < 8; ++i) {
    const int k = i % 4 + i / 4 * (T::kChannels / 2);
    if (first_k + k >= a.written_channels) continue;
    if constexpr (kFinishes)
      finish_all(sums[i], at_channel(a.finish, group * a.written_channels + first_k + k));
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const int image = half * (T::kImages / 2), j = half * 4;
      float* const to = out + k * a.written_k + image;
      if constexpr (kFours) {
        if (first_image + image < a.batch)
          *reinterpret_cast<float4*>(to) =
              make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
      } else {
        UNROLL
        for (int n = 0; n < 4; ++n)
          if (first_image + image + n < a.batch) to[n] = sums[i][j + n];
      }
    }
  }
}

// Written positions of one axis, by the number of taps that read inside `size` positions.
std::map<int, int64_t> pixels_by_taps(const direct::AxisResidue& axis, int64_t size) {
  std::map<int, int64_t> pixels;
  for (int u = 0; u < axis.extent; ++u) ++pixels[direct::taps_inside(axis, u, size)];
  return pixels;
}

class ChwnPlan final : public PackedFilterPlan {
 public:
  explicit ChwnPlan(const ConvProblem& problem) : PackedFilterPlan(problem, false) {}

  // Taps on padding are no work; depth, channels and images are rounded up to whole slabs and tiles.
  std::optional<OperationCount> operations() const override {
    using T = ChwnTile;
    int64_t depth = 0;  // of all written pixels
    for (const PackedResidue& residue : residues_)
      for (const auto& [row_taps, rows] : pixels_by_taps(residue.y, read_.size[2]))
        for (const auto& [column_taps, columns] : pixels_by_taps(residue.x, read_.size[3]))
          depth += rows * columns * round_up(int64_t{row_taps} * column_taps * channels_.read, T::kDepth);
    const auto steps =
        static_cast<double>(depth * problem_.groups * channel_tiles_ * ceil_div(problem_.batch, T::kImages));
    return OperationCount{2 * steps * T::kChannels * T::kImages, 0,
                          static_cast<double>(problem_.total_bytes() + 2 * workspace_bytes()),
                          steps * (T::kChannels + T::kImages) * sizeof(float)};
  }

  void run(const ConvArgs& args, Queue& queue) override {
    const bool fours = problem_.batch % 4 == 0;
    const auto kernel = problem_.epilogue == Epilogue::none ? (fours ? chwn<true, false> : chwn<false, false>)
                                                            : (fours ? chwn<true, true> : chwn<false, true>);
    queue.phase(Phase::product);
    for (const PackedResidue& residue : residues_) {
      const ChwnArgs a{
          .read = static_cast<const float*>(forward_ ? args.input : args.output),
          .filter = static_cast<const float*>(args.workspace) + residue.filter_offset,
          .written = static_cast<float*>(forward_ ? args.output : args.input),
          .read_c = read_.stride[1],
          .read_h = read_.stride[2],
          .read_w = read_.stride[3],
          .written_k = written_.stride[1],
          .written_h = written_.stride[2],
          .written_w = written_.stride[3],
          .next_tap = residue.x.read_tap_step * read_.stride[3] - channels_.read * read_.stride[1],
          .read_height = narrow(read_.size[2]),
          .read_width = narrow(read_.size[3]),
          .batch = narrow(problem_.batch),
          .read_channels = channels_.read,
          .written_channels = channels_.written,
          .channel_tiles = narrow(channel_tiles_),
          .y = residue.y,
          .x = residue.x,
          .finish = finish_of(problem_.epilogue, args.bias)};
      const dim3 grid(static_cast<unsigned>(residue.y.extent * residue.x.extent),
                      static_cast<unsigned>(a.channel_tiles * problem_.groups),
                      static_cast<unsigned>(ceil_div(problem_.batch, ChwnTile::kImages)));
      launch(kernel, grid, ChwnTile::kThreads, 0, queue, a);
    }
    queue.end_phase();
  }
};

}  // namespace

std::unique_ptr<Plan> make_chwn_plan(const ConvProblem& problem, const PlanOptions&) {
  return std::make_unique<ChwnPlan>(problem);
}

}  // namespace convscope::CONVSCOPE_KERNELS
