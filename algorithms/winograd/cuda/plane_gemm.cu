// The batched product of the planes: for each plane and group C = A B in FP32 (GemmArguments). A block
// computes kM x 128 of one C, a thread 8 x 8 of it (register_tile.cuh). Slabs of 8 along k are loaded from
// global memory into registers while the previous one is multiplied, and stored to the other half of the
// shared memory; one barrier a slab.
//
// Planes have their own sizes (GemmArguments::products): a plane of the larger tiles alone has fewer blocks.
// Slabs in shared memory are [k][row]. Where the operands are contiguous along k they are turned while they
// are stored; rows of kM + 4 floats put the two halves of a warp on different banks then.
//
// A sum stays in registers for kGemmRun products and is then added to C: rounding errors grow with the number
// of additions that follow one another, and backward-filter has as many products as there are tiles.
#include <algorithm>

#include "algorithms/common/register_tile.cuh"
#include "algorithms/common/tally.hpp"
#include "algorithms/winograd/cuda/plane_kernels.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace winograd;

constexpr int kVector = 4;  // floats a load

template <int M>
struct Tile {
  static constexpr int kM = M, kN = kGemmColumns, kDepth = kGemmDepth;
  static constexpr int kThreads = kM * kN / 64;
  static constexpr int kARow = kM + 4, kBRow = kN + 4;  // floats between k and k + 1 in shared memory
};

// One operand's share of a slab: which 16 bytes this thread moves from global to shared memory.
template <int Rows, int SharedRow, int Threads, bool DepthContiguous>
struct SlabLoader {
  static constexpr int kVectors = Rows * kGemmDepth / kVector;
  static constexpr int kEach = (kVectors + Threads - 1) / Threads;
  static constexpr int kAlong = (DepthContiguous ? kGemmDepth : Rows) / kVector;
  static_assert(Threads % kAlong == 0, "a thread's vectors are a constant step apart");
  static constexpr int kStep = Threads / kAlong;  // rows, or k where those are contiguous
  const float* from[kEach];
  int left;  // depth from this thread's first k on
  int to;    // of the first vector in the slab, floats
  float4 values[kEach];

  __device__ __forceinline__ SlabLoader(const float* matrix, int row_stride, int first, int rows, int depth) {
    const int thread = static_cast<int>(threadIdx.x);
    const int minor = thread % kAlong * kVector;
    to = DepthContiguous ? minor * SharedRow + thread / kAlong : thread / kAlong * SharedRow + minor;
    left = depth - (DepthContiguous ? minor : thread / kAlong);
    UNROLL
    for (int e = 0; e < kEach; ++e) {
      const int major = thread / kAlong + e * kStep;
      const int row = first + (DepthContiguous ? major : minor), k = DepthContiguous ? minor : major;
      const int inside = row < rows ? row : first;  // what is read for rows outside is not stored
      from[e] = matrix + (DepthContiguous ? static_cast<int64_t>(inside) * row_stride + k
                                          : static_cast<int64_t>(k) * row_stride + inside);
    }
  }
  // Whether this thread has an e-th vector.
  static __device__ __forceinline__ bool has(int e) {
    return kVectors % Threads == 0 || static_cast<int>(threadIdx.x) + e * Threads < kVectors;
  }
  // The slab that begins at k.
  __device__ __forceinline__ void load(int k, int row_stride) {
    UNROLL
    for (int e = 0; e < kEach; ++e) {
      values[e] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (has(e) && k + (DepthContiguous ? 0 : e * kStep) < left)
        values[e] = *reinterpret_cast<const float4*>(from[e]);
      from[e] += DepthContiguous ? kGemmDepth : static_cast<int64_t>(row_stride) * kGemmDepth;
    }
  }
  __device__ __forceinline__ void store(float* slab) const {
    UNROLL
    for (int e = 0; e < kEach; ++e) {
      if (!has(e)) continue;
      float* const at = slab + to + e * (DepthContiguous ? kStep : kStep * SharedRow);
      if constexpr (DepthContiguous) {
        at[0] = values[e].x;
        at[SharedRow] = values[e].y;
        at[2 * SharedRow] = values[e].z;
        at[3 * SharedRow] = values[e].w;
      } else {
        *reinterpret_cast<float4*>(at) = values[e];
      }
    }
  }
};

__device__ __forceinline__ void store_four(float* to, float x, float y, float z, float w, bool accumulate) {
  float4 sum = make_float4(x, y, z, w);
  if (accumulate) {
    const float4 old = *reinterpret_cast<const float4*>(to);
    sum = make_float4(old.x + x, old.y + y, old.z + z, old.w + w);
  }
  *reinterpret_cast<float4*>(to) = sum;
}

// Where the block's results go. In shared memory while the loop needs the registers.
struct Target {
  float* c;  // at (0, 0) of the product
  int m0, n0, m_end, n_end;
};

template <typename T>
__device__ __forceinline__ void store_tile(const GemmArguments& g, const Target& target,
                                           const float (&sums)[8][8], bool accumulate) {
  const Corner at = corner<T::kN>();
  UNROLL
  for (int i = 0; i < 8; ++i) {
    // Along the contiguous dimension in fours; the other dimension one by one.
    const int rows = g.transposed ? T::kN : T::kM, columns = g.transposed ? T::kM : T::kN;
    const int row = (g.transposed ? target.n0 + at.n : target.m0 + at.m) + i % 4 + i / 4 * (rows / 2);
    if (row >= (g.transposed ? target.n_end : target.m_end)) continue;
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const int column = (g.transposed ? target.m0 + at.m : target.n0 + at.n) + half * (columns / 2),
                j = 4 * half;
      if (column >= (g.transposed ? target.m_end : target.n_end)) continue;
      float* const to = target.c + static_cast<int64_t>(row) * g.c_row + column;
      if (g.transposed)
        store_four(to, sums[j][i], sums[j + 1][i], sums[j + 2][i], sums[j + 3][i], accumulate);
      else
        store_four(to, sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3], accumulate);
    }
  }
}

// One block tile of one product; a and b at row 0 and the first k of the product.
template <typename T, bool DepthContiguous>
__device__ __forceinline__ void multiply_tile(const GemmArguments& g, const float* a, const float* b,
                                              const Target& where, int depth) {
  __shared__ __align__(16) float a_slabs[2 * T::kDepth * T::kARow];
  __shared__ __align__(16) float b_slabs[2 * T::kDepth * T::kBRow];
  __shared__ __align__(16) Target target;
  SlabLoader<T::kM, T::kARow, T::kThreads, DepthContiguous> a_loader(a, g.a_row, where.m0, where.m_end,
                                                                     depth);
  SlabLoader<T::kN, T::kBRow, T::kThreads, DepthContiguous> b_loader(b, g.b_row, where.n0, where.n_end,
                                                                     depth);
  const Corner at = corner<T::kN>();
  float sums[8][8] = {};
  if (threadIdx.x == 0) target = where;

  a_loader.load(0, g.a_row);
  b_loader.load(0, g.b_row);
  a_loader.store(a_slabs);
  b_loader.store(b_slabs);
  __syncthreads();
  int half = 0;  // of the shared memory
  for (int k0 = 0; k0 < depth; k0 += T::kDepth) {
    if (k0 % kGemmRun == 0 && k0 > 0) {
      store_tile<T>(g, target, sums, g.accumulate || k0 > kGemmRun);
      UNROLL
      for (auto& row : sums) UNROLL
      for (float& sum : row) sum = 0;
    }
    const float* const a_slab = a_slabs + half * T::kDepth * T::kARow + at.m;
    const float* const b_slab = b_slabs + half * T::kDepth * T::kBRow + at.n;
    a_loader.load(k0 + T::kDepth, g.a_row);
    b_loader.load(k0 + T::kDepth, g.b_row);
    multiply_slab<T::kM, T::kN, T::kDepth, T::kARow, T::kBRow>(a_slab, b_slab, sums);
    tally_product(2 * 64 * T::kDepth);
    half ^= 1;
    a_loader.store(a_slabs + half * T::kDepth * T::kARow);
    b_loader.store(b_slabs + half * T::kDepth * T::kBRow);
    __syncthreads();
  }
  store_tile<T>(g, target, sums, g.accumulate || depth > kGemmRun);
}

// Blocks in the order m (fastest), n, split, group, plane: neighbours share their B.
template <typename T, bool DepthContiguous>
__global__ void __launch_bounds__(T::kThreads, 512 / T::kThreads)
    gemm_kernel(const GemmArguments g, int m_blocks, int n_blocks) {
  int rest = static_cast<int>(blockIdx.x);
  const int m0 = rest % m_blocks * T::kM;
  rest /= m_blocks;
  const int n0 = rest % n_blocks * T::kN;
  rest /= n_blocks;
  const int split = rest % g.splits;
  rest /= g.splits;
  const int group = rest % g.groups, plane = rest / g.groups;
  const PlaneProduct& product = g.products[plane];
  if (m0 < product.m && n0 < product.n) {
    const int k0 = split * g.split_depth, k = product.k_begin + k0;
    const auto at = [&](const float* matrix, int row, int stride) {
      return matrix + (DepthContiguous ? static_cast<int64_t>(row) * stride + k
                                       : static_cast<int64_t>(k) * stride + row);
    };
    const float* const a = at(g.a + plane * g.a_plane + group * g.a_group, product.m_begin, g.a_row);
    const float* const b = at(g.b + plane * g.b_plane + group * g.b_group, product.n_begin, g.b_row);
    const int row = g.transposed ? product.n_begin : product.m_begin;
    const int column = g.transposed ? product.m_begin : product.n_begin;
    float* const c = g.c + plane * g.c_plane + group * g.c_group + split * g.c_split +
                     static_cast<int64_t>(row) * g.c_row + column;
    multiply_tile<T, DepthContiguous>(g, a, b, {c, m0, n0, product.m, product.n},
                                      min(max(product.k - k0, 0), g.split_depth));
  }
}

template <int M>
void launch_tile(const GemmArguments& g, int most_m, int most_n, Queue& queue) {
  using T = Tile<M>;
  const int m_blocks = (most_m + T::kM - 1) / T::kM, n_blocks = (most_n + T::kN - 1) / T::kN;
  const auto kernel = g.depth_contiguous ? gemm_kernel<T, true> : gemm_kernel<T, false>;
  launch(kernel, static_cast<unsigned>(m_blocks * n_blocks * g.splits * g.groups * g.planes), T::kThreads, 0,
         queue, g, m_blocks, n_blocks);
}

}  // namespace

void multiply_planes(const GemmArguments& arguments, Queue& queue) {
  int most_m = 0, most_n = 0;
  for (int i = 0; i < arguments.planes; ++i) {
    most_m = std::max(most_m, arguments.products[i].m);
    most_n = std::max(most_n, arguments.products[i].n);
  }
  switch (gemm_rows_for(most_m)) {
    case kGemmRows[0]:
      return launch_tile<kGemmRows[0]>(arguments, most_m, most_n, queue);
    case kGemmRows[1]:
      return launch_tile<kGemmRows[1]>(arguments, most_m, most_n, queue);
    default:
      return launch_tile<kGemmRows[2]>(arguments, most_m, most_n, queue);
  }
}

}  // namespace convscope::CONVSCOPE_KERNELS
