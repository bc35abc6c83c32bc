// direct.tiled.cuda, forward and backward-data: a block computes 64 written channels by one tile of up to 128
// pixels of one image. Per step it stages the patch that the tile's taps reach, for a few channels, and their
// packed filters; every staged value then serves all taps. Design: README.md.
#include <string>
#include <vector>

#include "algorithms/common/tally.hpp"
#include "algorithms/direct/cuda/packed_filter.cuh"
#include "bench/algorithm/epilogue.cuh"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using direct::TiledTile;

struct TiledArgs {
  const float* read;
  const float* filter;
  float* written;
  int64_t read_n, read_c, read_h, read_w;              // strides, elements
  int64_t written_n, written_k, written_h, written_w;  // strides, elements
  int read_height, read_width;
  int read_channels, written_channels;  // of one group
  int channel_tiles;                    // of one group
  int tiles_x, tiles;                   // of one image
  direct::AxisResidue y, x;
  direct::TiledShape shape;
  Finish finish;
};

// Of a read channel: its patch, and its filters for all taps.
__host__ __device__ constexpr int64_t staged_bytes(const TiledArgs& a) {
  return static_cast<int64_t>(sizeof(float)) *
         (a.shape.patch_h * a.shape.patch_w + a.y.taps * a.x.taps * TiledTile::kChannels);
}

// Rows of the patch by warps, lanes along w: neighbours in memory (NCHW).
__device__ void stage_patch_by_rows(const TiledArgs& a, const float* image, int channels, int y0, int x0,
                                    float* patch) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int row = warp; row < channels * a.shape.patch_h; row += TiledTile::kThreads / 32) {
    const int c = row / a.shape.patch_h, y = row % a.shape.patch_h;
    const bool inside = y0 + y >= 0 && y0 + y < a.read_height;
    const float* from = image + c * a.read_c + (y0 + y) * a.read_h;
    float* to = patch + c * a.shape.plane + y * a.shape.patch_w;
    for (int x = lane; x < a.shape.patch_w; x += 32)
      to[x] = inside && x0 + x >= 0 && x0 + x < a.read_width ? __ldg(from + (x0 + x) * a.read_w) : 0.0f;
  }
}

// Threads along the channels first: neighbours in memory (NHWC).
__device__ void stage_patch_by_channels(const TiledArgs& a, const float* image, int channels, int y0, int x0,
                                        float* patch) {
  const int step = a.shape.channels, c = static_cast<int>(threadIdx.x) % step;
  for (int pixel = static_cast<int>(threadIdx.x) / step; pixel < a.shape.patch_h * a.shape.patch_w;
       pixel += TiledTile::kThreads / step) {
    const int y = y0 + pixel / a.shape.patch_w, x = x0 + pixel % a.shape.patch_w;
    const bool inside = c < channels && y >= 0 && y < a.read_height && x >= 0 && x < a.read_width;
    patch[c * a.shape.plane + pixel] =
        inside ? __ldg(image + c * a.read_c + y * a.read_h + x * a.read_w) : 0.0f;
  }
}

// Packed rows are contiguous: a plain copy, 16 bytes per thread.
__device__ void stage_filter(const float* from, int floats, float* to) {
  for (int i = 4 * static_cast<int>(threadIdx.x); i < floats; i += 4 * TiledTile::kThreads)
    *reinterpret_cast<float4*>(to + i) = __ldg(reinterpret_cast<const float4*>(from + i));
}

// Neighbouring taps, at `row` of the patch and `w` of the filter, of eight pixels and eight channels. Several
// at once share the pixels' addresses.
template <int kTaps>
__device__ __forceinline__ void add_taps(const float* row, const int (&at)[8], const float* w,
                                         float (&sum)[8][8]) {
  const float* pixel[8];
  UNROLL
  for (int m = 0; m < 8; ++m) pixel[m] = row + at[m];
  UNROLL
  for (int tap = 0; tap < kTaps; ++tap, w += TiledTile::kChannels) {
    const float4 low = *reinterpret_cast<const float4*>(w), high = *reinterpret_cast<const float4*>(w + 4);
    const float weight[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    float value[8];
    UNROLL
    for (int m = 0; m < 8; ++m) value[m] = pixel[m][tap];
    UNROLL
    for (int k = 0; k < 8; ++k) UNROLL
    for (int m = 0; m < 8; ++m) sum[k][m] += weight[k] * value[m];
  }
  tally_product(2 * 8 * 8 * kTaps);
}

// Thread (tk, tp) of 8 x 16 has written channels tk * 8 + i and pixels tp + 16 * j, so that a warp's reads of
// the patch are neighbours and its reads of the filter are broadcasts. kFinishes: applies an epilogue.
template <bool kChannelsInner, bool kFinishes>
__global__ void __launch_bounds__(TiledTile::kThreads, TiledTile::kBlocks) tiled(TiledArgs a) {
  constexpr int kTogether = kChannelsInner ? 2 : 3;  // taps, as many as 128 registers allow
  constexpr int kEach = TiledTile::kPerThread, kPixelLanes = TiledTile::kPixels / kEach;
  float* const filters = dynamic_smem<float>();
  const int taps = a.y.taps * a.x.taps;
  float* const patch = filters + a.shape.channels * taps * TiledTile::kChannels;
  const int tile = static_cast<int>(blockIdx.x % static_cast<unsigned>(a.tiles));
  const int64_t n = blockIdx.x / static_cast<unsigned>(a.tiles);
  const int group = static_cast<int>(blockIdx.y) / a.channel_tiles;
  const int u0 = tile / a.tiles_x * a.shape.tile_h, v0 = tile % a.tiles_x * a.shape.tile_w;
  const int y0 = u0 * a.y.read_step + a.y.first_read, x0 = v0 * a.x.read_step + a.x.first_read;
  const int tk = static_cast<int>(threadIdx.x) / kPixelLanes,
            tp = static_cast<int>(threadIdx.x) % kPixelLanes;

  int at[kEach];  // of each pixel in the patch; those outside the tile repeat the first one
  UNROLL
  for (int j = 0; j < kEach; ++j) {
    const int m = tp + kPixelLanes * j, u = m / a.shape.tile_w, v = m % a.shape.tile_w;
    at[j] = u < a.shape.tile_h ? u * a.y.read_step * a.shape.patch_w + v * a.x.read_step : 0;
  }
  float sum[kEach][kEach] = {};
  const float* image = a.read + n * a.read_n + static_cast<int64_t>(group) * a.read_channels * a.read_c;
  const float* packed =
      a.filter + static_cast<int64_t>(blockIdx.y) * a.read_channels * taps * TiledTile::kChannels;

  for (int c0 = 0; c0 < a.read_channels && taps > 0; c0 += a.shape.channels) {
    const int channels = min(a.shape.channels, a.read_channels - c0);
    __syncthreads();  // all threads have read the step before
    if constexpr (kChannelsInner)
      stage_patch_by_channels(a, image + c0 * a.read_c, channels, y0, x0, patch);
    else
      stage_patch_by_rows(a, image + c0 * a.read_c, channels, y0, x0, patch);
    const int64_t first = static_cast<int64_t>(c0) * taps * TiledTile::kChannels;
    stage_filter(packed + first, channels * taps * TiledTile::kChannels, filters);
    tally_staged(threadIdx.x == 0 ? channels * staged_bytes(a) : 0);
    __syncthreads();
    const float* w = filters + tk * kEach;
    // Of a filter of one tap the channels are taken as the taps of a row.
    const int outer = taps == 1 ? 1 : channels, inner = taps == 1 ? channels : a.x.taps;
    const int step = taps == 1 ? a.shape.plane : a.x.read_tap_step;
    for (int c = 0; c < outer; ++c)
      for (int i = 0; i < a.y.taps; ++i) {
        const float* row = patch + c * a.shape.plane + i * a.y.read_tap_step * a.shape.patch_w;
        int j = 0;
        if (step == 1)
          for (; j + kTogether <= inner;
               j += kTogether, row += kTogether, w += kTogether * TiledTile::kChannels)
            add_taps<kTogether>(row, at, w, sum);
        for (; j < inner; ++j, row += step, w += TiledTile::kChannels) add_taps<1>(row, at, w, sum);
      }
  }

  const int first_k = static_cast<int>(blockIdx.y) % a.channel_tiles * TiledTile::kChannels + tk * kEach;
  float* const out = a.written + n * a.written_n +
                     (static_cast<int64_t>(group) * a.written_channels + first_k) * a.written_k;
  if constexpr (kFinishes) {
    UNROLL
    for (int k = 0; k < kEach; ++k)
      if (first_k + k < a.written_channels)
        finish_all(sum[k], at_channel(a.finish, group * a.written_channels + first_k + k));
  }
  UNROLL
  for (int m = 0; m < kEach; ++m) {
    const int pixel = tp + kPixelLanes * m, row = pixel / a.shape.tile_w;
    const int u = u0 + row, v = v0 + pixel % a.shape.tile_w;
    if (row >= a.shape.tile_h || u >= a.y.extent || v >= a.x.extent) continue;
    float* const to = out + static_cast<int64_t>(a.y.written_first + u * a.y.written_step) * a.written_h +
                      static_cast<int64_t>(a.x.written_first + v * a.x.written_step) * a.written_w;
    UNROLL
    for (int k = 0; k < kEach; ++k)
      if (first_k + k < a.written_channels) to[k * a.written_k] = sum[k][m];
  }
}

class TiledPlan final : public PackedFilterPlan {
 public:
  explicit TiledPlan(const ConvProblem& problem) : PackedFilterPlan(problem, true) {
    for (const PackedResidue& residue : residues_) {
      TiledArgs args{};
      args.read_n = read_.stride[0], args.read_c = read_.stride[1];
      args.read_h = read_.stride[2], args.read_w = read_.stride[3];
      args.written_n = written_.stride[0], args.written_k = written_.stride[1];
      args.written_h = written_.stride[2], args.written_w = written_.stride[3];
      args.read_height = narrow(read_.size[2]), args.read_width = narrow(read_.size[3]);
      args.read_channels = channels_.read, args.written_channels = channels_.written;
      args.channel_tiles = narrow(channel_tiles_);
      args.y = residue.y, args.x = residue.x;
      args.shape = direct::tiled_shape(residue.y, residue.x, channels_.read);
      args.tiles_x = narrow(ceil_div(residue.x.extent, args.shape.tile_w));
      args.tiles = args.tiles_x * narrow(ceil_div(residue.y.extent, args.shape.tile_h));
      args_.push_back(args);
    }
  }

  std::string implementation() const override {
    const direct::TiledShape& shape = args_.front().shape;
    return std::to_string(TiledTile::kChannels) + " channels x " + std::to_string(shape.tile_h) + "x" +
           std::to_string(shape.tile_w) + " pixels, " + std::to_string(shape.channels) + " channels a step";
  }
  // Every pixel of a tile and every channel of a block, those past the edge and taps on padding included.
  std::optional<OperationCount> operations() const override {
    int64_t pairs = 0, staged = 0;
    for (const TiledArgs& a : args_) {
      const int64_t steps = int64_t{a.tiles} * a.read_channels, taps = int64_t{a.y.taps} * a.x.taps;
      pairs += steps * TiledTile::kPixels * taps;
      staged += taps > 0 ? steps * staged_bytes(a) : 0;
    }
    const auto blocks = static_cast<double>(problem_.batch * problem_.groups * channel_tiles_);
    return OperationCount{2 * blocks * TiledTile::kChannels * static_cast<double>(pairs), 0,
                          static_cast<double>(problem_.total_bytes() + 2 * workspace_bytes()),
                          blocks * static_cast<double>(staged)};
  }

  void run(const ConvArgs& args, Queue& queue) override {
    const bool nhwc = problem_.layout == Layout::nhwc;
    const auto kernel = problem_.epilogue == Epilogue::none
                            ? (nhwc ? tiled<true, false> : tiled<false, false>)
                            : (nhwc ? tiled<true, true> : tiled<false, true>);
    queue.phase(Phase::product);
    for (size_t i = 0; i < args_.size(); ++i) {
      TiledArgs residue = args_[i];
      residue.read = static_cast<const float*>(forward_ ? args.input : args.output);
      residue.written = static_cast<float*>(forward_ ? args.output : args.input);
      residue.filter = static_cast<const float*>(args.workspace) + residues_[i].filter_offset;
      residue.finish = finish_of(problem_.epilogue, args.bias);
      const dim3 grid(static_cast<unsigned>(residue.tiles * problem_.batch),
                      static_cast<unsigned>(residue.channel_tiles * problem_.groups));
      launch(kernel, grid, TiledTile::kThreads, static_cast<size_t>(residue.shape.smem_bytes), queue,
             residue);
    }
    queue.end_phase();
  }

 private:
  std::vector<TiledArgs> args_;  // of each residue, but for the pointers
};

}  // namespace

std::unique_ptr<Plan> make_tiled_plan(const ConvProblem& problem, const PlanOptions&) {
  return std::make_unique<TiledPlan>(problem);
}

}  // namespace convscope::CONVSCOPE_KERNELS
