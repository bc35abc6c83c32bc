// Launches our SGEMM (batched_sgemm.cuh) with asynchronous copies, as a user's matrices begin anywhere: what
// a block computes, and the sum of the splits.
#include <utility>

#include "algorithms/common/batched_sgemm.cuh"
#include "algorithms/im2col_gemm/cuda/sgemm.hpp"
#include "bench/algorithm/epilogue.cuh"
#include "bench/core/rounding.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using im2col_gemm::SgemmFinish;
using im2col_gemm::SgemmProduct;
using im2col_gemm::SgemmSplit;

// 128 or 168 registers.
template <int Columns>
using Tile = SgemmTile<im2col_gemm::kSgemmRows, Columns, 4, Columns == 128 ? 2 : 192 / Columns, 0>;

// Element (i, k) of A, or of B with its columns as i: at data + i * stride + k * depth_stride.
struct Side {
  const float* data;
  int64_t batch_stride;
  int count;   // rows of A, columns of B
  int stride;  // one of the two strides is 1
  int depth_stride;
};

// Matrices of one size. Partial sums are a C of their own for each split, one after another.
struct UniformBatch {
  static constexpr bool kWholeFours = false, kFinishes = false;
  Side a, b;
  float* c;
  int64_t c_batch, c_split;
  int c_row_stride, c_column_stride;
  int depth, splits, split_depth;
  bool adds, in_fours;

  __device__ __forceinline__ int a_stride() const { return a.stride; }
  __device__ __forceinline__ int a_depth_stride() const { return a.depth_stride; }
  __device__ __forceinline__ int b_stride() const { return b.stride; }
  __device__ __forceinline__ int b_depth_stride() const { return b.depth_stride; }
  __device__ __forceinline__ int c_row() const { return c_row_stride; }
  __device__ __forceinline__ int c_column() const { return c_column_stride; }
  __device__ __forceinline__ bool accumulate() const { return adds; }
  __device__ __forceinline__ bool vectors() const { return in_fours; }

  // Blocks count the columns' tiles first, so that blocks that run at the same time share rows of A.
  template <typename T>
  __device__ __forceinline__ SgemmBlock block(int index) const {
    const int across = (b.count + T::kColumns - 1) / T::kColumns, down = (a.count + T::kRows - 1) / T::kRows;
    const int column = index % across * T::kColumns;
    index /= across;
    const int row = index % down * T::kRows;
    index /= down;
    const int split = index % splits, matrix = index / splits, begin = split * split_depth;
    const auto from = [&](const Side& side, int first) {
      return side.data + matrix * side.batch_stride + int64_t{first} * side.stride +
             int64_t{begin} * side.depth_stride;
    };
    return {from(a, row),
            from(b, column),
            c + matrix * c_batch + split * c_split + int64_t{row} * c_row_stride +
                int64_t{column} * c_column_stride,
            a.count - row,
            b.count - column,
            min(depth - begin, split_depth)};
  }
};

// The same with an epilogue; without splits.
struct FinishingBatch : UniformBatch {
  static constexpr bool kFinishes = true;
  Finish epilogue;
  bool columns_are_channels;  // of the block: rows and columns may have changed places
  int channels_apart;

  template <typename T>
  __device__ __forceinline__ void finish(const SgemmBlock& block, const Corner& at,
                                         float (&sums)[8][8]) const {
    const auto row = [&](int i) { return at.m + i % 4 + i / 4 * (T::kRows / 2); };
    const auto column = [&](int j) { return at.n + j % 4 + j / 4 * (T::kColumns / 2); };
    if (accumulate()) {
      UNROLL
      for (int i = 0; i < 8; ++i) UNROLL
      for (int j = 0; j < 8; ++j)
        if (row(i) < block.rows && column(j) < block.columns)
          sums[i][j] += block.c[int64_t{row(i)} * c_row() + int64_t{column(j)} * c_column()];
    }
    const int across = (b.count + T::kColumns - 1) / T::kColumns, down = (a.count + T::kRows - 1) / T::kRows;
    const int first_channel = static_cast<int>(blockIdx.x) / (across * down) * channels_apart +
                              (columns_are_channels ? b.count - block.columns : a.count - block.rows);
    // Channels outside take another's bias; they are not stored.
    if (columns_are_channels) {
      UNROLL
      for (int j = 0; j < 8; ++j) {
        const ChannelFinish all = at_channel(epilogue, first_channel + min(column(j), block.columns - 1));
        UNROLL
        for (int i = 0; i < 8; ++i) sums[i][j] = finished(sums[i][j], all);
      }
    } else {
      UNROLL
      for (int i = 0; i < 8; ++i)
        finish_all(sums[i], at_channel(epilogue, first_channel + min(row(i), block.rows - 1)));
    }
  }
};

// One thread an element; `partials` as [count][batch][row][column].
constexpr int kAddThreads = 256;
template <bool kFinishes>
__global__ void __launch_bounds__(kAddThreads)
    add_kernel(const float* __restrict__ partials, float* __restrict__ c, int64_t c_batch, int64_t c_stride,
               int rows, int columns, int batch, int count, bool accumulate, Finish finish,
               bool columns_are_channels, int channels_apart) {
  const int64_t all = int64_t{rows} * columns * batch;
  const int64_t element = int64_t{blockIdx.x} * kAddThreads + threadIdx.x;
  if (element >= all) return;
  const int64_t row = element / columns, image = row / rows;
  float* const to = c + image * c_batch + (row - image * rows) * c_stride + (element - row * columns);
  float sum = accumulate ? *to : 0.0f;
  for (int i = 0; i < count; ++i) sum += partials[i * all + element];
  if constexpr (kFinishes) {
    const int64_t channel = columns_are_channels ? element - row * columns : row - image * rows;
    sum = finished(sum, finish, static_cast<int>(image * channels_apart + channel));
  }
  *to = sum;
}

bool aligned(const void* data, int64_t stride, int64_t batch_stride) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && stride % 4 == 0 && batch_stride % 4 == 0;
}

UniformBatch batch_of(const SgemmProduct& p, const SgemmSplit& split, float* partials) {
  const bool a_transposed = p.a.op != MatrixOp::none, b_transposed = p.b.op != MatrixOp::none;
  const int a_stride = static_cast<int>(p.a.stride), b_stride = static_cast<int>(p.b.stride);
  UniformBatch g;
  g.a = {p.a.data, p.a.batch_stride, p.rows, a_transposed ? 1 : a_stride, a_transposed ? a_stride : 1};
  g.b = {p.b.data, p.b.batch_stride, p.columns, b_transposed ? b_stride : 1, b_transposed ? 1 : b_stride};
  g.depth = p.depth;
  g.splits = split.splits;
  g.split_depth = split.split_depth;
  const bool is_split = split.splits > 1;
  const int64_t matrix = int64_t{p.rows} * p.columns;
  g.c = is_split ? partials : p.c.data;
  g.c_row_stride = is_split ? p.columns : static_cast<int>(p.c.stride);
  g.c_column_stride = 1;
  g.c_batch = is_split ? matrix : p.c.batch_stride;
  g.c_split = matrix * p.batch;
  g.adds = !is_split && p.beta != 0.0f;
  g.in_fours = aligned(g.c, g.c_row_stride, g.c_batch | (is_split ? g.c_split : 0));
  if (p.rows < p.columns) {  // the longer side is the rows
    std::swap(g.a, g.b);
    std::swap(g.c_row_stride, g.c_column_stride);
  }
  return g;
}

template <int Columns, typename Batch>
void launch_tile(const Batch& g, int batch, Queue& queue) {
  using T = Tile<Columns>;
  const int64_t across = ceil_div(g.b.count, T::kColumns), down = ceil_div(g.a.count, T::kRows);
  launch(sgemm_kernel<T, CopiedSlabs, Batch>, static_cast<unsigned>(across * down * g.splits * batch),
         T::kThreads, 0, queue, g);
}

template <typename Batch>
void launch_tiles(const Batch& g, int columns, int batch, Queue& queue) {
  if (columns == im2col_gemm::kSgemmColumns[0])
    launch_tile<im2col_gemm::kSgemmColumns[0]>(g, batch, queue);
  else if (columns == im2col_gemm::kSgemmColumns[1])
    launch_tile<im2col_gemm::kSgemmColumns[1]>(g, batch, queue);
  else
    launch_tile<im2col_gemm::kSgemmColumns[2]>(g, batch, queue);
}

}  // namespace

void sgemm(const SgemmProduct& product, const SgemmSplit& split, float* partials, Queue& queue,
           const SgemmFinish& finish) {
  const UniformBatch g = batch_of(product, split, partials);
  const bool exchanged = product.rows < product.columns;
  if (split.splits > 1 || finish.epilogue == Epilogue::none)
    launch_tiles(g, split.columns, product.batch, queue);
  else
    launch_tiles(FinishingBatch{g, finish_of(finish.epilogue, finish.bias),
                                finish.columns_are_channels != exchanged, finish.channels_apart},
                 split.columns, product.batch, queue);
  if (split.splits > 1) add_partials(product, partials, split.splits, queue, finish);
}

void add_partials(const SgemmProduct& product, const float* partials, int count, Queue& queue,
                  const SgemmFinish& finish) {
  const int64_t elements = int64_t{product.rows} * product.columns * product.batch;
  const auto kernel = finish.epilogue == Epilogue::none ? add_kernel<false> : add_kernel<true>;
  launch(kernel, static_cast<unsigned>(ceil_div(elements, kAddThreads)), kAddThreads, 0, queue, partials,
         product.c.data, product.c.batch_stride, product.c.stride, product.rows, product.columns,
         product.batch, count, product.beta != 0.0f, finish_of(finish.epilogue, finish.bias),
         finish.columns_are_channels, finish.channels_apart);
}

}  // namespace convscope::CONVSCOPE_KERNELS
