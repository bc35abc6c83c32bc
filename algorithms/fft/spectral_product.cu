// The product of spectra: for every frequency bin a complex matrix product with the second operand
// conjugated, four real multiply-adds each. All bins and groups are one launch. Start at struct ProductTile.
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

// Brings slice after slice of one operand to shared memory, [depth][Row] there. Stored [depth][position] it
// is read two positions at a time by neighbouring threads; Turned, stored [position][depth], one at a time, 8
// neighbouring threads reading the 8 steps of a position. Zero outside the matrix.
template <bool Turned, int Row>
class SliceCopy {
 public:
  __device__ SliceCopy(const float2* matrix, int64_t stride, int first, int count, int depth)
      : stride_(stride),
        step_(Turned ? thread() % ProductTile::depth : thread() / kPairs),
        position_(Turned ? thread() / ProductTile::depth : thread() % kPairs * 2),
        count_(count - first - position_),
        steps_(depth - step_) {
    const int64_t position = first + position_;
    from_ = matrix + (Turned ? position * stride + step_ : step_ * stride + position);
  }

  __device__ __forceinline__ void next(float2 (&slice)[ProductTile::depth][Row]) {
    UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const float2* from = from_ + round * kRoundSpan * stride_;
      const int wanted = count_ - (Turned ? round * kRoundSpan : 0);
      const bool there = steps_ > (Turned ? 0 : round * kRoundSpan) && wanted > 0;
      if constexpr (Turned)
        cp_async<8>(&slice[step_][position_ + round * kRoundSpan], from, there ? 8 : 0);
      else
        cp_async<16>(&slice[step_ + round * kRoundSpan][position_], from, there ? wanted > 1 ? 16 : 8 : 0);
    }
    from_ += Turned ? ProductTile::depth : ProductTile::depth * stride_;
    steps_ -= ProductTile::depth;
  }

 private:
  static constexpr int kPairs = ProductTile::rows / 2;  // of a step
  // Positions or steps that all threads cover at once, and how often they do it for a slice.
  static constexpr int kRoundSpan = ProductTile::threads / (Turned ? ProductTile::depth : kPairs);
  static constexpr int kRounds = (Turned ? ProductTile::rows : ProductTile::depth) / kRoundSpan;
  static_assert(ProductTile::rows == ProductTile::columns);
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  const float2* from_;
  int64_t stride_;
  int step_, position_;  // of this thread in the slice
  int count_, steps_;    // of positions and steps from there to the end of the matrix
};

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
    for (int i = 0; i < ProductTile::thread_rows; ++i) UNROLL
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
__global__ void __launch_bounds__(ProductTile::threads, 3) product_kernel(SpectralProduct p) {
  __shared__ __align__(16) ProductTile tile;
  const BlockTile block = block_tile(p);
  const int row = thread_row(), column = thread_column();
  SliceCopy<!AByDepth, ProductTile::a_row> a(block.a, p.a.other_stride, block.row, p.rows, p.depth);
  SliceCopy<false, ProductTile::columns> b(block.b, p.b.other_stride, block.column, p.columns, p.depth);
  Sums sums;
  UNROLL
  for (auto& sums_of_row : sums) UNROLL
  for (float2& sum : sums_of_row) sum = make_float2(0, 0);

  // Slices behind the end come as zeros.
  const auto copy_stage = [&](int stage) {
    a.next(tile.a[stage]);
    b.next(tile.b[stage]);
    cp_async_commit_group();
  };
  for (int stage = 0; stage < ProductTile::stages - 1; ++stage) copy_stage(stage);
  int stage = 0, free_stage = ProductTile::stages - 1;
  for (int k = 0; k < p.depth; k += ProductTile::depth) {
    cp_async_wait_group<ProductTile::stages - 2>();
    __syncthreads();  // the slice has come for all, and nobody reads the stage that is filled next
    copy_stage(free_stage);
    multiply_slice(tile, stage, row, column, sums);
    free_stage = stage;
    stage = stage + 1 < ProductTile::stages ? stage + 1 : 0;
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
