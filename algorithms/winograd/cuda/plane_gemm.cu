// The product of the planes: for each plane and group C = A * B in FP32 (GemmArguments), by the batched SGEMM
// of algorithms/common. Planes have their own sizes (GemmArguments::products): a plane of the larger tiles
// alone has fewer blocks.
#include <algorithm>

#include "algorithms/common/batched_sgemm.cuh"
#include "algorithms/common/tma_ring.cuh"
#include "algorithms/winograd/cuda/plane_kernels.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// On sm_90a: a producer warp brings the slabs by TMA, so that the others only read them and multiply, and
// wait for each other nowhere but at the stages. Of a 128 x 128 tile with copies by all threads an H100 lost
// a fifth of its issue slots to them (docs/experiments/gpu_first_light.md). Outside the unnamed namespace, as
// other architectures do not use all of it, which nvcc would report.
template <int Rows, int Columns>
struct TmaPlaneTile {
  static constexpr int kRows = Rows, kColumns = Columns, kDepth = 16, kStages = 4;
  static constexpr int kConsumerThreads = Rows * Columns / 64, kConsumerWarps = kConsumerThreads / 32;
  static constexpr int kThreads = kConsumerThreads + 32;
  static constexpr int kBlocks = 512 / kThreads;  // of a multiprocessor: at most 136 registers, or 128
  static constexpr int kStageBytes = kDepth * (Rows + Columns) * static_cast<int>(sizeof(float));
  static_assert(winograd::kGemmRun % kDepth == 0 && kDepth % winograd::kPlaneAlign == 0);
};

namespace {

using namespace winograd;

// At most 128 registers.
template <int M>
using Tile = SgemmTile<M, kGemmTiles[0].columns, 2, 512 / (M * kGemmTiles[0].columns / 64), kGemmRun>;
static_assert(Tile<128>::kDepth == kGemmTiles[0].depth && Tile<128>::kDepth == kGemmTiles[0].stage &&
              TmaPlaneTile<128, 64>::kDepth == kTmaGemmTiles[0].stage);

struct PlaneBatch {
  static constexpr bool kWholeFours = true, kFinishes = false;
  GemmArguments g;
  int m_blocks, n_blocks;

  __device__ __forceinline__ int a_stride() const { return g.a_row; }
  __device__ __forceinline__ int b_stride() const { return g.b_row; }
  __device__ __forceinline__ int c_row() const { return g.transposed ? 1 : g.c_row; }
  __device__ __forceinline__ int c_column() const { return g.transposed ? g.c_row : 1; }
  __device__ __forceinline__ bool accumulate() const { return g.accumulate; }

  // What a block computes: its first row and column of a product, its split.
  struct Place {
    int plane, group, split, m, n;
  };
  // Blocks in the order m (fastest), n, split, group, plane: neighbours share their B.
  template <typename T>
  __device__ __forceinline__ Place place(int index) const {
    Place at;
    at.m = index % m_blocks * T::kRows;
    index /= m_blocks;
    at.n = index % n_blocks * T::kColumns;
    index /= n_blocks;
    at.split = index % g.splits;
    index /= g.splits;
    at.group = index % g.groups, at.plane = index / g.groups;
    return at;
  }

  template <typename T>
  __device__ __forceinline__ SgemmBlock block(int index) const {
    const Place at = place<T>(index);
    const PlaneProduct& product = g.products[at.plane];
    const int row = product.m_begin + at.m, column = product.n_begin + at.n;
    const int k = at.split * g.split_depth;
    const auto from = [&](const float* matrix, int first, int stride) {
      const int depth = product.k_begin + k;
      return matrix +
             (g.depth_contiguous ? int64_t{first} * stride + depth : int64_t{depth} * stride + first);
    };
    return {from(g.a + at.plane * g.a_plane + at.group * g.a_group, row, g.a_row),
            from(g.b + at.plane * g.b_plane + at.group * g.b_group, column, g.b_row),
            g.c + at.plane * g.c_plane + at.group * g.c_group + at.split * g.c_split +
                int64_t{row} * c_row() + int64_t{column} * c_column(),
            product.m - at.m,
            product.n - at.n,
            min(max(product.k - k, 0), g.split_depth)};
  }
};

template <int M>
void launch_tile(const GemmArguments& g, int max_m, int max_n, Queue& queue) {
  using T = Tile<M>;
  const int m_blocks = narrow(ceil_div(max_m, T::kRows)), n_blocks = narrow(ceil_div(max_n, T::kColumns));
  const auto kernel = g.depth_contiguous ? sgemm_kernel<T, StagedSlabs<true>, PlaneBatch>
                                         : sgemm_kernel<T, StagedSlabs<false>, PlaneBatch>;
  launch(kernel, static_cast<unsigned>(m_blocks * n_blocks * g.splits * g.groups * g.planes), T::kThreads, 0,
         queue, PlaneBatch{g, m_blocks, n_blocks});
}

// Adds the products of `Depth` steps of a stage, [k][row] and [k][column].
template <typename T, int Depth>
__device__ __forceinline__ void multiply_steps(const float* stage, int k, const Corner& at,
                                               float (&sums)[8][8]) {
  multiply_slab<T::kRows, T::kColumns, Depth, T::kRows, T::kColumns>(
      stage + k * T::kRows + at.m, stage + T::kDepth * T::kRows + k * T::kColumns + at.n, sums);
  tally_product(2 * 64 * Depth);
}

template <typename T>
__device__ __forceinline__ void multiply_tile(const PlaneBatch& batch, const SgemmBlock& block,
                                              const Ring<T>& ring) {
  const Corner at = corner<T::kColumns>();
  RingReader<T> reader{ring};
  int left = block.depth;
  do {  // once for a split without depth, whose C is zero
    float sums[8][8] = {};
    const int stop = max(left - kGemmRun, 0);
    for (; left - stop >= T::kDepth; left -= T::kDepth) {
      multiply_steps<T, T::kDepth>(reinterpret_cast<const float*>(reader.next()), 0, at, sums);
      reader.release();
    }
    if (left > stop) {  // the last stage: behind its end are other products' values
      const auto* const stage = reinterpret_cast<const float*>(reader.next());
      for (int k = 0; k < left - stop; k += kPlaneAlign) multiply_steps<T, kPlaneAlign>(stage, k, at, sums);
      left = stop;
    }
    store_sums<T>(batch, block, at, sums, batch.accumulate() || stop + kGemmRun < block.depth);
  } while (left > 0);
}

template <typename T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    tma_sgemm_kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                     const __grid_constant__ PlaneBatch batch) {
  if constexpr (kHopperInstructions) {
    const SgemmBlock block = batch.template block<T>(static_cast<int>(blockIdx.x));
    if (block.rows <= 0 || block.columns <= 0) return;
    const Ring<T> ring = start_ring<T>();
    __syncthreads();
    if (threadIdx.x < T::kConsumerThreads) return multiply_tile<T>(batch, block, ring);
    if (!elect_lane()) return;
    const GemmArguments& g = batch.g;
    const PlaneBatch::Place at = batch.template place<T>(static_cast<int>(blockIdx.x));
    const PlaneProduct& product = g.products[at.plane];
    const int a_group = static_cast<int>(at.group * g.a_group),
              b_group = static_cast<int>(at.group * g.b_group);
    const int a_x = a_group % g.a_row + product.m_begin + at.m,
              b_x = b_group % g.b_row + product.n_begin + at.n;
    const int depth = product.k_begin + at.split * g.split_depth;
    fill_ring<T>(ring, (block.depth + T::kDepth - 1) / T::kDepth,
                 [&](int number, unsigned char* stage, uint64_t* arrived) {
                   const int k = depth + number * T::kDepth;
                   tma_load_4d(stage, &a, arrived, a_x, a_group / g.a_row + k, at.plane, 0);
                   tma_load_4d(stage + T::kDepth * T::kRows * sizeof(float), &b, arrived, b_x,
                               b_group / g.b_row + k, at.plane, 0);
                 });
  }
}

// All planes of an operand, [plane][row][x]; boxes of a stage's depth.
TensorMap plane_map(const float* data, int row, int64_t plane, int planes, int width, int depth) {
  TensorMapLayout layout;
  layout.swizzle = TmaSwizzle::none;
  layout.base = data;
  layout.rank = 4;
  const int64_t size[4] = {row, plane / row, planes, 1}, stride[3] = {row, plane, plane * planes};
  for (int i = 0; i < 4; ++i) layout.size[i] = static_cast<uint64_t>(size[i]);
  for (int i = 0; i < 3; ++i) layout.stride_bytes[i] = static_cast<uint64_t>(stride[i]) * sizeof(float);
  layout.box[0] = static_cast<uint32_t>(width);
  layout.box[1] = static_cast<uint32_t>(depth);
  return make_tensor_map(layout);
}

template <int Rows, int Columns>
void launch_tma_tile(const GemmArguments& g, int max_m, int max_n, Queue& queue) {
  using T = TmaPlaneTile<Rows, Columns>;
  const int m_blocks = narrow(ceil_div(max_m, T::kRows)), n_blocks = narrow(ceil_div(max_n, T::kColumns));
  launch(tma_sgemm_kernel<T>, static_cast<unsigned>(m_blocks * n_blocks * g.splits * g.groups * g.planes),
         T::kThreads, ring_bytes<T>(), queue,
         plane_map(g.a, g.a_row, g.a_plane, g.planes, T::kRows, T::kDepth),
         plane_map(g.b, g.b_row, g.b_plane, g.planes, T::kColumns, T::kDepth),
         PlaneBatch{g, m_blocks, n_blocks});
}

}  // namespace

void multiply_planes(const GemmArguments& arguments, Queue& queue) {
  int max_m = 0, max_n = 0;
  for (int i = 0; i < arguments.planes; ++i) {
    max_m = std::max(max_m, arguments.products[i].m);
    max_n = std::max(max_n, arguments.products[i].n);
  }
  const int rows = gemm_tile(arguments).rows;
  if (arguments.by_tma) {
    if (rows == 128) return launch_tma_tile<128, 64>(arguments, max_m, max_n, queue);
    if (rows == 96) return launch_tma_tile<96, 64>(arguments, max_m, max_n, queue);
    return launch_tma_tile<64, 128>(arguments, max_m, max_n, queue);
  }
  if (rows == 128) return launch_tile<128>(arguments, max_m, max_n, queue);
  if (rows == 96) return launch_tile<96>(arguments, max_m, max_n, queue);
  launch_tile<64>(arguments, max_m, max_n, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS
