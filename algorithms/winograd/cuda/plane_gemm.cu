// The product of the planes: for each plane and group C = A * B in FP32 (GemmArguments), by the batched SGEMM
// of algorithms/common. Planes have their own sizes (GemmArguments::products): a plane of the larger tiles
// alone has fewer blocks.
#include <algorithm>

#include "algorithms/common/batched_sgemm.cuh"
#include "algorithms/winograd/cuda/plane_kernels.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

// At most 128 registers.
template <int M>
using Tile = SgemmTile<M, kGemmColumns, 2, 512 / (M * kGemmColumns / 64), kGemmRun>;
static_assert(Tile<128>::kDepth == kGemmDepth);

struct PlaneBatch {
  static constexpr bool kWholeFours = true, kFinishes = false;
  GemmArguments g;
  int m_blocks, n_blocks;

  __device__ __forceinline__ int a_stride() const { return g.a_row; }
  __device__ __forceinline__ int b_stride() const { return g.b_row; }
  __device__ __forceinline__ int c_row() const { return g.transposed ? 1 : g.c_row; }
  __device__ __forceinline__ int c_column() const { return g.transposed ? g.c_row : 1; }
  __device__ __forceinline__ bool accumulate() const { return g.accumulate; }

  // Blocks in the order m (fastest), n, split, group, plane: neighbours share their B.
  template <typename T>
  __device__ __forceinline__ SgemmBlock block(int index) const {
    const int m = index % m_blocks * T::kRows;
    index /= m_blocks;
    const int n = index % n_blocks * T::kColumns;
    index /= n_blocks;
    const int split = index % g.splits;
    index /= g.splits;
    const int group = index % g.groups, plane = index / g.groups;
    const PlaneProduct& product = g.products[plane];
    const int row = product.m_begin + m, column = product.n_begin + n;
    const int k = split * g.split_depth;
    const auto from = [&](const float* matrix, int first, int stride) {
      const int depth = product.k_begin + k;
      return matrix +
             (g.depth_contiguous ? int64_t{first} * stride + depth : int64_t{depth} * stride + first);
    };
    return {from(g.a + plane * g.a_plane + group * g.a_group, row, g.a_row),
            from(g.b + plane * g.b_plane + group * g.b_group, column, g.b_row),
            g.c + plane * g.c_plane + group * g.c_group + split * g.c_split + int64_t{row} * c_row() +
                int64_t{column} * c_column(),
            product.m - m,
            product.n - n,
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

}  // namespace

void multiply_planes(const GemmArguments& arguments, Queue& queue) {
  int max_m = 0, max_n = 0;
  for (int i = 0; i < arguments.planes; ++i) {
    max_m = std::max(max_m, arguments.products[i].m);
    max_n = std::max(max_n, arguments.products[i].n);
  }
  switch (gemm_rows_for(max_m)) {
    case kGemmRows[0]:
      return launch_tile<kGemmRows[0]>(arguments, max_m, max_n, queue);
    case kGemmRows[1]:
      return launch_tile<kGemmRows[1]>(arguments, max_m, max_n, queue);
    default:
      return launch_tile<kGemmRows[2]>(arguments, max_m, max_n, queue);
  }
}

}  // namespace convscope::CONVSCOPE_KERNELS
