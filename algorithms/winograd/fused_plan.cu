// Winograd F(2x2, 3x3) in one kernel: 16 products (one a pair of points) of 64 channels written x 32 tiles,
// summed over the channels read in slabs of 8, after Yan, Wang and Chu (PPoPP 2020) and openCNN. Only the
// transformed filters lie in global memory, as planes [channel read][channel written].
//
// A block is 8 warps. For a slab each thread transforms one tile of one channel in registers and stores its
// 16 points; the filters' part of the slab comes by asynchronous copy. A warp multiplies two of the 16
// planes, a thread 8 x 8 of each: 128 sums. The next slab is loaded while the current one is multiplied: two
// halves of the shared memory, one barrier a slab. At the end the sums of a tile, which lie in 8 warps, meet
// in shared memory, half of the channels at a time.
//
// Columns of a slab of tiles are permuted by their row (swizzle), so that neither eight channels of a tile
// (NHWC) nor 32 tiles of a channel (NCHW) are stored to one bank, without padding.
#include <algorithm>

#include "algorithms/winograd/line_transforms.cuh"
#include "algorithms/winograd/plane_kernels.hpp"
#include "algorithms/winograd/plane_product.hpp"
#include "algorithms/winograd/winograd_cuda.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

struct Fused {
  static constexpr int kAlpha = 4, kSize = 2, kPlanes = kAlpha * kAlpha;
  static constexpr int kM = kFusedChannels, kN = kFusedTiles, kDepth = kFusedDepth;
  static constexpr int kThreads = 256, kWarps = kThreads / 32;
  static constexpr int kFilterFloats = kPlanes * kDepth * kM, kTileFloats = kPlanes * kDepth * kN;
  static constexpr int kSlabFloats = kFilterFloats + kTileFloats;
  static constexpr int kSharedBytes = 2 * kSlabFloats * static_cast<int>(sizeof(float));
  static constexpr int kExchangeRow = kN + 4;  // four rows of 4 x 4 sums on different banks
  static_assert(kPlanes * kM / 2 * kExchangeRow <= 2 * kSlabFloats);
};

struct FusedArguments {
  const float* filters;
  const float* read;
  float* written;
  int64_t filter_plane, filter_group;  // floats
  int filter_row;
  TensorMap from, to;
  TileClass tiles;
  int depth;  // channels read, of a group
};

__device__ __forceinline__ int swizzle(int k, int n) {
  return n ^ (k % Fused::kDepth * 4);
}

// Image and first pixel (of the tile's outputs) of a tile.
struct TileAt {
  int n, h, w;
};
__device__ __forceinline__ TileAt tile_at(const TileClass& cls, int tile) {
  const int column = tile % cls.w.count, rest = tile / cls.w.count;
  return {rest / cls.h.count, rest % cls.h.count * Fused::kSize, column * Fused::kSize};
}

// The tile and channel that a thread transforms, and the 16 pixels on their way. Pixels of a row follow each
// other, or channels do.
template <bool ChannelsContiguous>
struct TileLoader {
  const float* from;  // pixel (0, 0) of the channel in the current slab; perhaps outside the tensor
  unsigned inside;    // one bit a pixel
  int tile, k;        // of the block, of the slab
  float pixels[Fused::kPlanes];

  __device__ __forceinline__ TileLoader(const FusedArguments& a, int group, int n0) {
    const int t = static_cast<int>(threadIdx.x);
    tile = ChannelsContiguous ? t / Fused::kDepth : t % Fused::kN;
    k = ChannelsContiguous ? t % Fused::kDepth : t / Fused::kN;
    const TileAt at = tile_at(a.tiles, n0 + tile);
    const int h = at.h - a.from.origin_h, w = at.w - a.from.origin_w;
    from = a.read + at.n * a.from.stride_n + (static_cast<int64_t>(group) * a.depth + k) * a.from.stride_c +
           h * a.from.stride_h + w * a.from.stride_w;
    inside = 0;
    UNROLL
    for (int p = 0; p < Fused::kPlanes; ++p) {
      const int y = h + p / Fused::kAlpha, x = w + p % Fused::kAlpha;
      if (y >= 0 && y < a.from.h && x >= 0 && x < a.from.w) inside |= 1u << p;
    }
    if (n0 + tile >= a.tiles.tiles) inside = 0;
  }
  __device__ __forceinline__ void load(const FusedArguments& a, int k0) {
    const unsigned mask = k0 + k < a.depth ? inside : 0;
    const float* row = from;
    UNROLL
    for (int i = 0; i < Fused::kAlpha; ++i, row += a.from.stride_h) {
      UNROLL
      for (int j = 0; j < Fused::kAlpha; ++j) {
        const int p = i * Fused::kAlpha + j;
        pixels[p] = mask & 1u << p ? row[ChannelsContiguous ? j * a.from.stride_w : j] : 0.0f;
      }
    }
    from += Fused::kDepth * a.from.stride_c;
  }
  __device__ __forceinline__ void transform_and_store(float* slab) const {
    using Line = DataLine<Fused::kAlpha, Fused::kAlpha>;
    float rows[Fused::kAlpha][Fused::kAlpha];
    UNROLL
    for (int i = 0; i < Fused::kAlpha; ++i) Line::apply(pixels + i * Fused::kAlpha, rows[i]);
    float* const to = slab + k * Fused::kN + swizzle(k, tile);
    UNROLL
    for (int j = 0; j < Fused::kAlpha; ++j) {
      const float column[4] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j]};
      float points[Fused::kAlpha];
      Line::apply(column, points);
      UNROLL
      for (int i = 0; i < Fused::kAlpha; ++i)
        to[(i * Fused::kAlpha + j) * Fused::kDepth * Fused::kN] = points[i];
    }
  }
};

// Starts the copy of 16 planes of 8 x 64 filters from channel k0 on: 16 threads a row, 128 rows.
__device__ __forceinline__ void copy_filters(const FusedArguments& a, const float* filters, int m0,
                                             int m_stored, int k0, float* slab) {
  constexpr int kPerRow = Fused::kM / 4, kRowsAtOnce = Fused::kThreads / kPerRow;
  const int m = static_cast<int>(threadIdx.x) % kPerRow * 4, first = static_cast<int>(threadIdx.x) / kPerRow;
  const int k = first % Fused::kDepth, plane = first / Fused::kDepth;
  const bool inside = m0 + m < m_stored && k0 + k < a.depth;
  const float* from = inside ? filters + static_cast<int64_t>(k0 + k) * a.filter_row + m0 + m : a.filters;
  const int64_t next = inside ? a.filter_plane : 0;
  from += plane * next;
  UNROLL
  for (int e = 0; e < Fused::kPlanes * Fused::kDepth / kRowsAtOnce; ++e) {
    cp_async<16>(slab + (first + e * kRowsAtOnce) * Fused::kM + m, from, inside ? 16 : 0);
    from += next * (kRowsAtOnce / Fused::kDepth);
  }
  cp_async_commit_group();
}

__device__ __forceinline__ void load_four(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

// Two planes of one slab. The thread's rows are m, m + 1, 2, 3 and 32 behind, its columns n .. and 16 behind;
// n is below 16, so swizzle() moves either four as a whole.
__device__ __forceinline__ void multiply_slab(float (&sums)[2][8][8], const float* slab, int warp, int m,
                                              int n) {
  UNROLL
  for (int k = 0; k < Fused::kDepth; ++k) {
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const int row = (2 * warp + half) * Fused::kDepth + k;
      const float* const u = slab + row * Fused::kM + m;
      const float* const v = slab + Fused::kFilterFloats + row * Fused::kN;
      float a[8], b[8];
      load_four(a, u);
      load_four(a + 4, u + Fused::kM / 2);
      const int column = swizzle(k % 4, n), low = k / 4 * (Fused::kN / 2);
      load_four(b, v + column + low);
      load_four(b + 4, v + column + (Fused::kN / 2 - low));
      UNROLL
      for (int i = 0; i < 8; ++i) {
        UNROLL
        for (int j = 0; j < 8; ++j) sums[half][i][j] = fmaf(a[i], b[j], sums[half][i][j]);
      }
    }
  }
}

// The 2 x 2 outputs of one channel and tile, from the exchange [plane][channel][tile].
__device__ __forceinline__ void write_outputs(const FusedArguments& a, const float* points, int group, int m,
                                              int tile) {
  using Line = InterpolateLine<Fused::kAlpha, Fused::kSize>;
  float rows[Fused::kAlpha][Fused::kSize];
  UNROLL
  for (int i = 0; i < Fused::kAlpha; ++i) {
    float line[Fused::kAlpha];
    UNROLL
    for (int j = 0; j < Fused::kAlpha; ++j)
      line[j] = points[(i * Fused::kAlpha + j) * (Fused::kM / 2) * Fused::kExchangeRow];
    Line::apply(line, rows[i]);
  }
  const TileAt at = tile_at(a.tiles, tile);
  const int h = at.h - a.to.origin_h, w = at.w - a.to.origin_w;
  float* const to =
      a.written + at.n * a.to.stride_n + (static_cast<int64_t>(group) * a.to.channels + m) * a.to.stride_c;
  UNROLL
  for (int j = 0; j < Fused::kSize; ++j) {
    float column[4] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j]}, outputs[Fused::kSize];
    Line::apply(column, outputs);
    UNROLL
    for (int i = 0; i < Fused::kSize; ++i) {
      const int y = h + i, x = w + j;
      if (y >= 0 && y < a.to.h && x >= 0 && x < a.to.w)
        to[y * a.to.stride_h + x * a.to.stride_w] = outputs[i];
    }
  }
}

template <bool ChannelsContiguous>
__device__ __forceinline__ void invert(const FusedArguments& a, const float (&sums)[2][8][8], float* exchange,
                                       int group, int m0, int n0, int warp, int m, int n) {
  constexpr int kHalf = Fused::kM / 2, kRow = Fused::kExchangeRow;
  UNROLL
  for (int half = 0; half < 2; ++half) {
    UNROLL
    for (int p = 0; p < 2; ++p) {
      UNROLL
      for (int i = 0; i < 4; ++i) {
        const float* const from = sums[p][4 * half + i];
        float* const to = exchange + ((2 * warp + p) * kHalf + m + i) * kRow + n;
        *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
        *reinterpret_cast<float4*>(to + Fused::kN / 2) = make_float4(from[4], from[5], from[6], from[7]);
      }
    }
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int other = warp; other < 32; other += Fused::kWarps) {
      const int row = ChannelsContiguous ? lane : other, column = ChannelsContiguous ? other : lane;
      if (m0 + half * kHalf + row < a.to.channels && n0 + column < a.tiles.tiles)
        write_outputs(a, exchange + row * kRow + column, group, m0 + half * kHalf + row, n0 + column);
    }
    __syncthreads();
  }
}

// Blocks in the order m (fastest), tiles, groups: neighbours read the same tiles.
template <bool ChannelsContiguous>
__global__ void __launch_bounds__(Fused::kThreads, 1)
    fused_kernel(const FusedArguments a, int m_blocks, int n_blocks) {
  float* const shared = dynamic_smem<float>();
  int rest = static_cast<int>(blockIdx.x);
  const int m0 = rest % m_blocks * Fused::kM;
  rest /= m_blocks;
  const int n0 = rest % n_blocks * Fused::kN, group = rest / n_blocks;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int m = lane / 4 * 4, n = lane % 4 * 4;
  const float* const filters = a.filters + group * a.filter_group;
  float sums[2][8][8] = {};

  TileLoader<ChannelsContiguous> loader(a, group, n0);
  copy_filters(a, filters, m0, a.to.lanes_stored, 0, shared);
  loader.load(a, 0);
  loader.transform_and_store(shared + Fused::kFilterFloats);
  cp_async_wait_group<0>();
  __syncthreads();
  int half = 0;
  for (int k0 = 0; k0 < a.depth; k0 += Fused::kDepth) {
    float* const next = shared + (half ^ 1) * Fused::kSlabFloats;
    copy_filters(a, filters, m0, a.to.lanes_stored, k0 + Fused::kDepth, next);
    loader.load(a, k0 + Fused::kDepth);
    multiply_slab(sums, shared + half * Fused::kSlabFloats, warp, m, n);
    loader.transform_and_store(next + Fused::kFilterFloats);
    cp_async_wait_group<0>();
    __syncthreads();
    half ^= 1;
  }
  invert<ChannelsContiguous>(a, sums, shared, group, m0, n0, warp, m, n);
}

class FusedPlan final : public Plan {
 public:
  explicit FusedPlan(const Geometry& geometry)
      : geometry_(geometry), filters_(fused_filter_planes(geometry)) {}

  int64_t workspace_bytes() const override { return filters_.floats * static_cast<int64_t>(sizeof(float)); }
  std::string implementation() const override { return geometry_.describe(); }
  bool has_prepare() const override { return true; }
  void prepare(const ConvArgs& args, Queue& queue) override {
    queue.phase(Phase::prepare);
    const int64_t stored = geometry_.problem.groups * align_plane(geometry_.signal.lanes());
    const TileTransform what{filter_map(geometry_), filter_class(geometry_, stored), filters_.strides,
                             geometry_.points_w(), filters_.lanes_contiguous};
    transform_tiles(TileOperand::kernel, what, static_cast<const float*>(args.filter),
                    static_cast<float*>(args.workspace), queue);
    queue.end_phase();
  }
  void run(const ConvArgs& args, Queue& queue) override {
    const ConvProblem& problem = geometry_.problem;
    const bool forward = problem.pass == Pass::forward;
    const TensorMap image = activation_map(geometry_.image, problem.groups, problem.batch);
    const TensorMap signal = activation_map(geometry_.signal, problem.groups, problem.batch);
    const FusedArguments a{static_cast<const float*>(args.workspace),
                           static_cast<const float*>(forward ? args.input : args.output),
                           static_cast<float*>(forward ? args.output : args.input),
                           filters_.strides.plane,
                           align_plane(geometry_.signal.lanes()) * filters_.strides.tile,
                           filters_.row(),
                           forward ? image : signal,
                           forward ? signal : image,
                           tile_classes(geometry_.h, geometry_.w, problem.batch).at[0],
                           forward ? image.lanes : signal.lanes};
    const int m_blocks = (a.to.channels + Fused::kM - 1) / Fused::kM;
    const int n_blocks = (a.tiles.tiles + Fused::kN - 1) / Fused::kN;
    const auto kernel = problem.layout == Layout::nhwc ? fused_kernel<true> : fused_kernel<false>;
    launch(kernel, static_cast<unsigned>(m_blocks * n_blocks * problem.groups), Fused::kThreads,
           Fused::kSharedBytes, queue, a, m_blocks, n_blocks);
  }

 private:
  const Geometry geometry_;
  const PlaneSet filters_;
};

}  // namespace

std::unique_ptr<Plan> make_fused_plan(const Geometry& geometry) {
  return std::make_unique<FusedPlan>(geometry);
}

}  // namespace convscope::CONVSCOPE_KERNELS
