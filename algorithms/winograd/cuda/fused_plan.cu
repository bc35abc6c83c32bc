// Winograd F(2x2, 3x3) and F(4x4, 3x3) in one kernel: 16 or 36 products (one for each pair of points) of 64
// or 32 channels written by 32 tiles, summed over the channels read in slabs of 8, after Yan, Wang and Chu
// (PPoPP 2020) and openCNN. Only the transformed filters are stored in global memory, as planes [channel
// read][channel written].
//
// A block is 8 or 12 warps. The filters and the pixels of the next slab are copied asynchronously while the
// current one is multiplied: shared memory holds two slabs, and there is one barrier per slab. Each thread of
// the first 8 warps copies the pixels of one tile of one channel to where its points will be and transforms
// them in place. A warp multiplies two or three planes, 8 x 8 or 4 x 8 sums of each per thread: 128 or 96. At
// the end the sums of a tile, which lie in all warps, are exchanged through shared memory, 32 channels at a
// time.
//
// Columns of a slab of tiles are permuted by their row (swizzle), so that neither eight channels of a tile
// (NHWC) nor 32 tiles of a channel (NCHW) are stored to one bank, without padding.
#include <algorithm>

#include "algorithms/winograd/cuda/line_transforms.cuh"
#include "algorithms/winograd/cuda/plane_kernels.hpp"
#include "algorithms/winograd/cuda/plane_product.hpp"
#include "algorithms/winograd/cuda/variants.hpp"
#include "algorithms/winograd/line_costs.hpp"
#include "bench/algorithm/epilogue.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

// The block for output tiles of Size x Size: kM channels written by kN tiles, kWarpPlanes planes per warp,
// kRows x kColumns sums of each per thread.
template <int Size>
struct Fused {
  static constexpr int kSize = Size, kAlpha = Size + 2, kPlanes = kAlpha * kAlpha;
  static constexpr int kM = fused_channels(Size), kN = kFusedTiles, kDepth = kFusedDepth;
  static constexpr int kThreads = Size == 2 ? 256 : 384, kWarps = kThreads / 32;
  static constexpr int kWarpPlanes = kPlanes / kWarps, kRows = kM / 8, kColumns = kN / 4;
  static constexpr int kLoaders = kN * kDepth;  // threads with a tile and channel of the slab
  static constexpr int kFilterFloats = kPlanes * kDepth * kM, kTileFloats = kPlanes * kDepth * kN;
  static constexpr int kSlabFloats = kFilterFloats + kTileFloats;
  static constexpr int kSharedBytes = 2 * kSlabFloats * static_cast<int>(sizeof(float));
  static constexpr int kPart = 32;  // channels whose sums are exchanged through shared memory together
  static_assert(kPlanes % kWarps == 0 && kLoaders <= kThreads && kSharedBytes == fused_shared_bytes(Size));
  static_assert(kPlanes * kPart * kN <= 2 * kSlabFloats);
  using Sums = float[kWarpPlanes][kRows][kColumns];
};

struct FusedArguments {
  const float* filters;
  const float* read;
  float* written;
  int64_t filter_plane, filter_group;  // floats
  int filter_row;
  TensorAddressing from, to;
  TileClass tiles;
  int depth;  // channels read, of a group
  Finish finish;
};

__device__ __forceinline__ int swizzle(int row, int n) {
  return n ^ (row % 8 * 4);
}

// Image and first output of a tile.
struct TileOrigin {
  int n, h, w;
};
template <int Size>
__device__ __forceinline__ TileOrigin tile_origin(const TileClass& cls, int tile) {
  const int column = tile % cls.w.count, rest = tile / cls.w.count;
  return {rest / cls.h.count, rest % cls.h.count * Size, column * Size};
}

// The tile and channel that a thread transforms. Its pixels are copied asynchronously to where its points
// will be, so that none is kept in a register. Pixels of a row are contiguous, or channels are.
template <int Size, bool ChannelsContiguous>
struct TileLoader {
  using F = Fused<Size>;
  const float* from;  // pixel (0, 0) of the channel in the next slab; perhaps outside the tensor
  int rows, columns;  // inside the tensor: one bit each
  int k;              // of the slab
  int at;             // of its first point, in a slab

  __device__ __forceinline__ TileLoader(const FusedArguments& a, int group, int n0) {
    const int t = static_cast<int>(threadIdx.x);
    const int tile = ChannelsContiguous ? t / F::kDepth : t % F::kN;
    k = ChannelsContiguous ? t % F::kDepth : t / F::kN;
    at = F::kFilterFloats + k * F::kN + swizzle(k, tile);
    const TileOrigin pixel = tile_origin<Size>(a.tiles, n0 + tile);
    const int h = pixel.h - a.from.origin_h, w = pixel.w - a.from.origin_w;
    from = a.read + pixel.n * a.from.stride_n +
           (static_cast<int64_t>(group) * a.depth + k) * a.from.stride_c + h * a.from.stride_h +
           w * a.from.stride_w;
    rows = columns = 0;
    UNROLL
    for (int i = 0; i < F::kAlpha; ++i) {
      if (h + i >= 0 && h + i < a.from.h) rows |= 1 << i;
      if (w + i >= 0 && w + i < a.from.w) columns |= 1 << i;
    }
    if (n0 + tile >= a.tiles.tiles) rows = 0;
  }
  __device__ __forceinline__ void copy(const FusedArguments& a, int k0, float* slab) {
    const int rows_now = k0 + k < a.depth ? rows : 0;
    const float* row = from;
    float* to = slab + at;
    UNROLL
    for (int i = 0; i < F::kAlpha; ++i, row += a.from.stride_h) {
      const int inside = rows_now & 1 << i ? columns : 0;
      UNROLL
      for (int j = 0; j < F::kAlpha; ++j, to += F::kDepth * F::kN)
        cp_async<4>(to, row + (ChannelsContiguous ? j * a.from.stride_w : j), (inside >> j & 1) * 4);
    }
    from += F::kDepth * a.from.stride_c;
  }
  // After the thread has waited for its copies.
  __device__ __forceinline__ void transform(float* slab) const {
    using Line = DataLine<F::kAlpha, F::kAlpha>;
    constexpr int kPlane = F::kDepth * F::kN;
    float* const points = slab + at;
    float lines[F::kAlpha][F::kAlpha];
    UNROLL
    for (int i = 0; i < F::kAlpha; ++i) {
      float pixels[F::kAlpha];
      UNROLL
      for (int j = 0; j < F::kAlpha; ++j) pixels[j] = points[(i * F::kAlpha + j) * kPlane];
      Line::apply(pixels, lines[i]);
    }
    UNROLL
    for (int j = 0; j < F::kAlpha; ++j) {
      float in[F::kAlpha], out[F::kAlpha];
      UNROLL
      for (int i = 0; i < F::kAlpha; ++i) in[i] = lines[i][j];
      Line::apply(in, out);
      UNROLL
      for (int i = 0; i < F::kAlpha; ++i) points[(i * F::kAlpha + j) * kPlane] = out[i];
    }
  }
};

// Starts the copy of all planes of 8 channels read by kM filters from channel k0 on, 16 bytes per thread.
template <typename F>
__device__ __forceinline__ void copy_filters(const FusedArguments& a, const float* filters, int m0,
                                             int m_stored, int k0, float* slab) {
  constexpr int kPerRow = F::kM / 4, kRowsAtOnce = F::kThreads / kPerRow;
  const int m = static_cast<int>(threadIdx.x) % kPerRow * 4, first = static_cast<int>(threadIdx.x) / kPerRow;
  const int k = first % F::kDepth, plane = first / F::kDepth;
  const bool inside = m0 + m < m_stored && k0 + k < a.depth;
  const float* from = inside ? filters + static_cast<int64_t>(k0 + k) * a.filter_row + m0 + m : a.filters;
  const int64_t next = inside ? a.filter_plane : 0;
  from += plane * next;
  UNROLL
  for (int e = 0; e < F::kPlanes * F::kDepth / kRowsAtOnce; ++e) {
    cp_async<16>(slab + (first + e * kRowsAtOnce) * F::kM + m, from, inside ? 16 : 0);
    from += next * (kRowsAtOnce / F::kDepth);
  }
}

__device__ __forceinline__ void load_four(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
__device__ __forceinline__ void store_four(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

// The warp's planes of one slab. The thread's rows are m to m + 3 and (of 64) those 32 further on, its
// columns n to n + 3 and those 16 further on; n is below 16, so swizzle() moves either four as a whole.
template <typename F>
__device__ __forceinline__ void multiply_slab(typename F::Sums& sums, const float* slab, int warp, int m,
                                              int n) {
  tally_product(int64_t{2} * F::kDepth * F::kWarpPlanes * F::kRows * F::kColumns);
  UNROLL
  for (int k = 0; k < F::kDepth; ++k) {
    UNROLL
    for (int p = 0; p < F::kWarpPlanes; ++p) {
      const int row = (F::kWarpPlanes * warp + p) * F::kDepth + k;
      const float* const u = slab + row * F::kM + m;
      const float* const v = slab + F::kFilterFloats + row * F::kN;
      float a[F::kRows], b[F::kColumns];
      UNROLL
      for (int i = 0; i < F::kRows; i += 4) load_four(a + i, u + i * 8);
      const int column = swizzle(k % 4, n), low = k / 4 * (F::kN / 2);
      load_four(b, v + column + low);
      load_four(b + 4, v + column + (F::kN / 2 - low));
      UNROLL
      for (int i = 0; i < F::kRows; ++i) {
        UNROLL
        for (int j = 0; j < F::kColumns; ++j) sums[p][i][j] = fmaf(a[i], b[j], sums[p][i][j]);
      }
    }
  }
}

// The outputs of one channel and tile, from the exchange [plane][channel][tile]. With stride 1 the first tile
// starts where the tensor does; the last ones may reach beyond.
template <typename F, bool Finishes>
__device__ __forceinline__ void write_outputs(const FusedArguments& a, const float* points, int group, int m,
                                              int tile) {
  using Line = InterpolateLine<F::kAlpha, F::kSize>;
  float lines[F::kAlpha][F::kSize];
  UNROLL
  for (int i = 0; i < F::kAlpha; ++i) {
    float line[F::kAlpha];
    UNROLL
    for (int j = 0; j < F::kAlpha; ++j) line[j] = points[(i * F::kAlpha + j) * F::kPart * F::kN];
    Line::apply(line, lines[i]);
  }
  const TileOrigin at = tile_origin<F::kSize>(a.tiles, tile);
  float* const to =
      a.written + at.n * a.to.stride_n + (static_cast<int64_t>(group) * a.to.channels + m) * a.to.stride_c;
  [[maybe_unused]] ChannelFinish finish;
  if constexpr (Finishes) finish = at_channel(a.finish, group * a.to.channels + m);
  UNROLL
  for (int j = 0; j < F::kSize; ++j) {
    float column[F::kAlpha], outputs[F::kSize];
    UNROLL
    for (int i = 0; i < F::kAlpha; ++i) column[i] = lines[i][j];
    Line::apply(column, outputs);
    if constexpr (Finishes) finish_all(outputs, finish);
    UNROLL
    for (int i = 0; i < F::kSize; ++i) {
      const int y = at.h + i, x = at.w + j;
      if (y < a.to.h && x < a.to.w) to[y * a.to.stride_h + x * a.to.stride_w] = outputs[i];
    }
  }
}

// A warp takes 32 tiles of a channel, or 4 tiles of 8 channels (32 bytes together): where tensors are
// contiguous and no two lanes read one bank.
template <typename F, bool ChannelsContiguous, bool Finishes>
__device__ __forceinline__ void invert(const FusedArguments& a, const typename F::Sums& sums, float* exchange,
                                       int group, int m0, int n0, int warp, int m, int n) {
  UNROLL
  for (int part = 0; part < F::kM / F::kPart; ++part) {
    __syncthreads();  // the slab, or the part before, has been read
    UNROLL
    for (int p = 0; p < F::kWarpPlanes; ++p) {
      UNROLL
      for (int i = 0; i < 4; ++i) {
        const float* const from = sums[p][4 * part + i];
        float* const to = exchange + ((F::kWarpPlanes * warp + p) * F::kPart + m + i) * F::kN;
        store_four(to + swizzle(m + i, n), from);
        store_four(to + swizzle(m + i, n + F::kN / 2), from + 4);
      }
    }
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < F::kPart * F::kN; e += F::kThreads) {
      const int row = ChannelsContiguous ? e % 8 + e / 32 % 4 * 8 : e / F::kN;
      const int column = ChannelsContiguous ? e / 8 % 4 + e / 128 * 4 : e % F::kN;
      const int channel = m0 + part * F::kPart + row;
      if (channel < a.to.channels && n0 + column < a.tiles.tiles)
        write_outputs<F, Finishes>(a, exchange + row * F::kN + swizzle(row, column), group, channel,
                                   n0 + column);
    }
  }
}

// Blocks in the order m (fastest), tiles, groups: neighbours read the same tiles. Half a warp reads its rows
// and its columns of a plane in one access each: neighbours have the same rows, lanes two apart the same
// columns. Finishes: with an epilogue.
template <int Size, bool ChannelsContiguous, bool Finishes>
__global__ void __launch_bounds__(Fused<Size>::kThreads, 1)
    fused_kernel(const FusedArguments a, int m_blocks, int n_blocks) {
  using F = Fused<Size>;
  float* const shared = dynamic_smem<float>();
  int rest = static_cast<int>(blockIdx.x);
  const int m0 = rest % m_blocks * F::kM;
  rest /= m_blocks;
  const int n0 = rest % n_blocks * F::kN, group = rest / n_blocks;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int m = lane / 2 % 8 * 4, n = (lane % 2 + lane / 16 * 2) * 4;
  const float* const filters = a.filters + group * a.filter_group;
  typename F::Sums sums = {};

  TileLoader<Size, ChannelsContiguous> loader(a, group, n0);
  const bool loads = F::kLoaders == F::kThreads || static_cast<int>(threadIdx.x) < F::kLoaders;
  const auto copy = [&](int k0, float* slab) {
    copy_filters<F>(a, filters, m0, a.to.lanes_stored, k0, slab);
    if (loads) loader.copy(a, k0, slab);
    tally_staged(threadIdx.x == 0 ? F::kSlabFloats * int64_t{sizeof(float)} : 0);
    cp_async_commit_group();
  };
  copy(0, shared);
  int half = 0;
  for (int k0 = 0; k0 < a.depth; k0 += F::kDepth) {
    float* const slab = shared + half * F::kSlabFloats;
    half ^= 1;
    cp_async_wait_group<0>();
    if (loads) loader.transform(slab);
    __syncthreads();
    if (k0 + F::kDepth < a.depth) copy(k0 + F::kDepth, shared + half * F::kSlabFloats);
    multiply_slab<F>(sums, slab, warp, m, n);
  }
  invert<F, ChannelsContiguous, Finishes>(a, sums, shared, group, m0, n0, warp, m, n);
}

class FusedPlan final : public Plan {
 public:
  explicit FusedPlan(const Geometry& geometry)
      : geometry_(geometry), filters_(fused_filter_planes(geometry)) {}

  int64_t workspace_bytes() const override { return filters_.floats * static_cast<int64_t>(sizeof(float)); }
  std::string implementation() const override { return geometry_.describe(); }
  // In registers, over the channels read.
  double longest_sum() const override { return static_cast<double>(channels_read()); }
  std::optional<OperationCount> operations() const override;
  bool has_prepare() const override { return true; }
  void prepare(const ConvArgs& args, Queue& queue) override {
    queue.phase(Phase::prepare);
    transform_tiles(TileOperand::coefficients, filter_transform(), static_cast<const float*>(args.filter),
                    static_cast<float*>(args.workspace), queue);
    queue.end_phase();
  }
  void run(const ConvArgs& args, Queue& queue) override {
    const ConvProblem& problem = geometry_.problem;
    const bool forward = is_forward();
    const TensorAddressing input = activation_addressing(geometry_.input_view, problem.groups, problem.batch);
    const TensorAddressing output =
        activation_addressing(geometry_.output_view, problem.groups, problem.batch);
    const FusedArguments a{static_cast<const float*>(args.workspace),
                           static_cast<const float*>(forward ? args.input : args.output),
                           static_cast<float*>(forward ? args.output : args.input),
                           filters_.strides.plane,
                           align_plane(geometry_.output_view.lanes()) * filters_.strides.tile,
                           filters_.row(),
                           forward ? input : output,
                           forward ? output : input,
                           tile_classes(geometry_.h, geometry_.w, problem.batch).at[0],
                           forward ? input.lanes : output.lanes,
                           finish_of(problem.epilogue, args.bias)};
    if (a.tiles.h.size == 2)
      launch_kernel<2>(a, queue);
    else
      launch_kernel<4>(a, queue);
  }

 private:
  bool is_forward() const { return geometry_.problem.pass == Pass::forward; }
  int64_t channels_read() const {
    return (is_forward() ? geometry_.input_view : geometry_.output_view).channels;
  }
  TileTransform filter_transform() const {
    const int64_t stored = geometry_.problem.groups * align_plane(geometry_.output_view.lanes());
    return {filter_addressing(geometry_), filter_class(geometry_, stored), filters_.strides,
            geometry_.points_w(), filters_.lanes_contiguous};
  }
  template <int Size>
  void launch_kernel(const FusedArguments& a, Queue& queue) const {
    using F = Fused<Size>;
    const bool nhwc = geometry_.problem.layout == Layout::nhwc;
    const auto kernel = geometry_.problem.epilogue == Epilogue::none
                            ? (nhwc ? fused_kernel<Size, true, false> : fused_kernel<Size, false, false>)
                            : (nhwc ? fused_kernel<Size, true, true> : fused_kernel<Size, false, true>);
    const int m_blocks = narrow(ceil_div(a.to.channels, F::kM));
    const int n_blocks = narrow(ceil_div(a.tiles.tiles, F::kN));
    launch(kernel, static_cast<unsigned>(m_blocks * n_blocks * geometry_.problem.groups), F::kThreads,
           F::kSharedBytes, queue, a, m_blocks, n_blocks);
  }

  const Geometry geometry_;
  const PlaneSet filters_;
};

// Each block of channels written transforms its tiles again; all blocks and slabs are whole. Only the
// filters' planes pass through memory.
std::optional<OperationCount> FusedPlan::operations() const {
  const ConvProblem& p = geometry_.problem;
  const LineCosts& costs = line_costs();
  const TileClass tiles = tile_classes(geometry_.h, geometry_.w, p.batch).at[0];
  const int size = tiles.h.size, alpha = tiles.h.alpha, channels = fused_channels(size);
  const int64_t written = (is_forward() ? geometry_.output_view : geometry_.input_view).channels;
  const double groups = static_cast<double>(p.groups);
  const double slabs_of_tiles =
      static_cast<double>(round_up(tiles.tiles, kFusedTiles) * round_up(channels_read(), kFusedDepth));
  OperationCount count;
  count.product_flops =
      2 * groups * slabs_of_tiles * static_cast<double>(geometry_.planes() * round_up(written, channels));
  const double data = 2.0 * alpha * costs.data[alpha];
  const double inverse = (alpha + size) * static_cast<double>(costs.interpolate[alpha][size]);
  count.transform_flops = groups * (slabs_of_tiles * static_cast<double>(ceil_div(written, channels)) * data +
                                    static_cast<double>(tiles.tiles * written) * inverse) +
                          transform_tiles_flops(TileOperand::coefficients, filter_transform());
  count.bytes =
      static_cast<double>(p.total_bytes()) + 2.0 * sizeof(float) * static_cast<double>(filters_.floats);
  const double blocks_of_depth = groups * slabs_of_tiles / kFusedTiles * ceil_div(written, channels);
  count.cached_bytes = blocks_of_depth * sizeof(float) * geometry_.planes() * (channels + kFusedTiles);
  return count;
}

}  // namespace

std::unique_ptr<Plan> make_fused_plan(const Geometry& geometry) {
  return std::make_unique<FusedPlan>(geometry);
}

}  // namespace convscope::CONVSCOPE_KERNELS
