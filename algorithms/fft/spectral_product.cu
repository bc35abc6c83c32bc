// The product of spectra: for every frequency bin a complex matrix product with the second operand conjugated,
// four real multiply-adds each. All bins and groups are one launch. Start at struct ProductTile.
#include "algorithms/fft/tiled_kernels.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// A block computes rows x columns complex sums, a thread 8 x 4 of them: for each step of depth it reads 12
// complex numbers from shared memory and does 128 multiply-adds. Slices of `depth` steps arrive by
// asynchronous copies in a ring of `stages`.
struct ProductTile {
  static constexpr int rows = 64, columns = 64, depth = 8, stages = 3, threads = 128;
  static constexpr int thread_rows = 8, thread_columns = 4;
  // A row of A's slice is 2 float2 longer, so that it can be written along depth without conflicts: 8 steps
  // of depth fall on 8 pairs of banks, the next row on those between.
  static constexpr int a_row = rows + 2;

  float2 a[stages][depth][a_row];
  float2 b[stages][depth][columns];
};

// Where this block works.
struct BlockTile {
  const float2 *a, *b;
  float2* y;
  int row, column;
};
__device__ __forceinline__ BlockTile block_tile(const SpectralProduct& p) {
  const int row_tiles = (p.rows + ProductTile::rows - 1) / ProductTile::rows;
  const int column_tiles = (p.columns + ProductTile::columns - 1) / ProductTile::columns;
  const int block = static_cast<int>(blockIdx.x), matrix = block / (row_tiles * column_tiles);
  const int64_t bin = matrix % p.bins, group = matrix / p.bins;
  const auto start = [&](const Spectra& s) { return s.data + group * s.group_stride + bin * s.bin_stride; };
  return {start(p.a), start(p.b), start(p.y), block % row_tiles * ProductTile::rows,
          block / row_tiles % column_tiles * ProductTile::columns};
}

// How many bytes of a copy of `bytes` at element `first` lie before `end`.
__device__ __forceinline__ int valid_bytes(int first, int end, int bytes) {
  return min(max((end - first) * static_cast<int>(sizeof(float2)), 0), bytes);
}

// Columns [first, first + Width) of steps [k, k + depth) of a matrix stored [depth][column], two at a time:
// neighbouring threads read neighbouring columns. Zero outside the matrix.
template <int Width, int Row>
__device__ __forceinline__ void copy_slice(float2 (&slice)[ProductTile::depth][Row], const float2* matrix,
                                           int64_t stride, int first, int columns, int k, int depth) {
  static_assert(Width == 64);
  UNROLL
  for (int round = 0; round < ProductTile::depth * Width / 2 / ProductTile::threads; ++round) {
    const int i = static_cast<int>(threadIdx.x) + round * ProductTile::threads;
    const int step = i / (Width / 2), column = i % (Width / 2) * 2;
    const int valid = k + step < depth ? valid_bytes(first + column, columns, 16) : 0;
    const float2* from = valid > 0 ? matrix + (k + step) * stride + first + column : matrix;
    cp_async<16>(&slice[step][column], from, valid);
  }
}

// The same of a matrix stored [row][depth], one at a time: 8 neighbouring threads read the 8 steps of a row.
__device__ __forceinline__ void copy_slice_turned(float2 (&slice)[ProductTile::depth][ProductTile::a_row],
                                                  const float2* matrix, int64_t stride, int first, int rows,
                                                  int k, int depth) {
  UNROLL
  for (int round = 0; round < ProductTile::depth * ProductTile::rows / ProductTile::threads; ++round) {
    const int i = static_cast<int>(threadIdx.x) + round * ProductTile::threads;
    const int step = i % ProductTile::depth, row = i / ProductTile::depth;
    const int valid = k + step < depth && first + row < rows ? 8 : 0;
    const float2* from = valid > 0 ? matrix + (first + row) * stride + k + step : matrix;
    cp_async<8>(&slice[step][row], from, valid);
  }
}

template <bool AByDepth>
__device__ __forceinline__ void copy_stage(ProductTile& tile, const SpectralProduct& p, const BlockTile& block,
                                           int slice) {
  const int stage = slice % ProductTile::stages, k = slice * ProductTile::depth;
  if (k < p.depth) {
    if constexpr (AByDepth)
      copy_slice<ProductTile::rows>(tile.a[stage], block.a, p.a.other_stride, block.row, p.rows, k, p.depth);
    else
      copy_slice_turned(tile.a[stage], block.a, p.a.other_stride, block.row, p.rows, k, p.depth);
    copy_slice<ProductTile::columns>(tile.b[stage], block.b, p.b.other_stride, block.column, p.columns, k,
                                     p.depth);
  }
  cp_async_commit_group();
}

// Two neighbours in shared memory with one load.
__device__ __forceinline__ void load_pair(const float2* from, float2& first, float2& second) {
  const float4 both = *reinterpret_cast<const float4*>(from);
  first = make_float2(both.x, both.y);
  second = make_float2(both.z, both.w);
}

// acc += a * conj(b)
__device__ __forceinline__ void multiply_add(float2& acc, float2 a, float2 b) {
  acc.x += a.x * b.x;
  acc.y += a.y * b.x;
  acc.x += a.y * b.y;
  acc.y -= a.x * b.y;
}

// A thread has rows row + 16 i + {0, 1} and columns column + 32 j + {0, 1} of the tile; a warp reads 4 times
// 16 neighbouring bytes of A and 8 times of B with one load each.
__device__ __forceinline__ int thread_row() {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  return 2 * (warp / 2 * 4 + lane / 8);
}
__device__ __forceinline__ int thread_column() {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  return 2 * (warp % 2 * 8 + lane % 8);
}

using Sums = float2[ProductTile::thread_rows][ProductTile::thread_columns];

__device__ __forceinline__ void multiply_slice(const ProductTile& tile, int stage, int row, int column,
                                               Sums& sums) {
  UNROLL
  for (int k = 0; k < ProductTile::depth; ++k) {
    float2 a[ProductTile::thread_rows], b[ProductTile::thread_columns];
    UNROLL
    for (int i = 0; i < 4; ++i) load_pair(&tile.a[stage][k][row + 16 * i], a[2 * i], a[2 * i + 1]);
    UNROLL
    for (int j = 0; j < 2; ++j) load_pair(&tile.b[stage][k][column + 32 * j], b[2 * j], b[2 * j + 1]);
    UNROLL
    for (int i = 0; i < ProductTile::thread_rows; ++i)
      UNROLL
      for (int j = 0; j < ProductTile::thread_columns; ++j) multiply_add(sums[i][j], a[i], b[j]);
  }
}

// Two sums at a time; the strides are even, so the second one of the last pair has a place.
__device__ __forceinline__ void store_sums(const SpectralProduct& p, const BlockTile& block, int row,
                                           int column, const Sums& sums) {
  UNROLL
  for (int i = 0; i < ProductTile::thread_rows; ++i) {
    const int y_row = block.row + row + i / 2 * 16 + i % 2;
    if (y_row >= p.rows) continue;
    UNROLL
    for (int j = 0; j < ProductTile::thread_columns; j += 2) {
      const int y_column = block.column + column + j / 2 * 32;
      if (y_column >= p.columns) continue;
      auto* y = reinterpret_cast<float4*>(block.y + y_row * p.y.other_stride + y_column);
      float4 value = make_float4(sums[i][j].x, sums[i][j].y, sums[i][j + 1].x, sums[i][j + 1].y);
      if (p.accumulate) {
        const float4 old = *y;
        value = make_float4(value.x + old.x, value.y + old.y, value.z + old.z, value.w + old.w);
      }
      *y = value;
    }
  }
}

template <bool AByDepth>
__global__ void __launch_bounds__(ProductTile::threads) product_kernel(SpectralProduct p) {
  __shared__ __align__(16) ProductTile tile;
  const BlockTile block = block_tile(p);
  const int row = thread_row(), column = thread_column();
  Sums sums;
  UNROLL
  for (auto& sums_of_row : sums)
    UNROLL
    for (float2& sum : sums_of_row) sum = make_float2(0, 0);

  for (int slice = 0; slice < ProductTile::stages - 1; ++slice) copy_stage<AByDepth>(tile, p, block, slice);
  const int slices = (p.depth + ProductTile::depth - 1) / ProductTile::depth;
  for (int slice = 0; slice < slices; ++slice) {
    cp_async_wait_group<ProductTile::stages - 2>();
    __syncthreads();  // the slice has come for all, and nobody reads the stage that is filled next
    copy_stage<AByDepth>(tile, p, block, slice + ProductTile::stages - 1);
    multiply_slice(tile, slice % ProductTile::stages, row, column, sums);
  }
  cp_async_wait_group<0>();
  store_sums(p, block, row, column, sums);
}

}  // namespace

void multiply_spectra(const SpectralProduct& p, Queue& queue) {
  const int64_t row_tiles = (p.rows + ProductTile::rows - 1) / ProductTile::rows;
  const int64_t column_tiles = (p.columns + ProductTile::columns - 1) / ProductTile::columns;
  const auto blocks = static_cast<unsigned>(row_tiles * column_tiles * p.bins * p.groups);
  launch(p.a_by_depth ? product_kernel<true> : product_kernel<false>, blocks, ProductTile::threads, 0, queue,
         p);
}

}  // namespace convscope::CONVSCOPE_KERNELS
