// The kernels of our SGEMM. A block computes 128 x kColumns of C, a thread 8 x 8 of it (register_tile.cuh).
// Slabs of 8 along the depth come through a ring of 4 stages in shared memory, filled by 4-byte asynchronous
// copies: these need no alignment and turn a matrix for nothing. One barrier a slab.
//
// Who loads what: a thread loads rows first, first + kStep, ... at one k of each slab. Either lanes run along
// the rows and a warp has one k, or 8 lanes run along k, whichever are neighbours in memory; rows of
// kRows + 4 floats keep the second kind on different banks.
#include <utility>

#include "algorithms/common/register_tile.cuh"
#include "algorithms/im2col_gemm/cuda/sgemm.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using im2col_gemm::SgemmCut;
using im2col_gemm::SgemmProduct;

// Element (i, k) of A, or of B with its columns as i: at data + i * stride + k * depth_stride.
struct Side {
  const float* data;
  int64_t batch_stride;
  int count;   // rows of A, columns of B
  int stride;  // one of the two strides is 1
  int depth_stride;
};

// Partial sums are a C of their own for each split, one after another.
struct Arguments {
  Side a, b;
  float* c;
  int64_t c_batch, c_split;
  int c_row, c_column;  // one of them is 1
  int depth, splits, split_depth;
  bool accumulate;  // C += instead of C =
  bool vectors;     // C may be written 16 bytes at a time
};

template <int Columns>
struct Tile {
  static constexpr int kRows = im2col_gemm::kSgemmRows, kColumns = Columns;
  static constexpr int kDepth = im2col_gemm::kSgemmDepth, kThreads = kRows * kColumns / 64;
  static constexpr int kBlocks =
      Columns == 128 ? 2 : 384 / kThreads;  // on a multiprocessor: 128, 168 registers
  static constexpr int kStages = 4, kRowPitch = kRows + 4, kColumnPitch = kColumns + 4;
  static constexpr int kStageFloats = kDepth * (kRowPitch + kColumnPitch);
};

// One operand's share of a slab.
template <int Extent, int Pitch, int Threads>
class Loader {
 public:
  // The slab begins at `depth` of the matrix `data`.
  __device__ __forceinline__ Loader(const Side& side, const float* data, int first, int depth) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool along = side.stride == 1;
    const int row = along ? thread % kStep : thread / 8;
    k_ = along ? thread / kStep : thread % 8;
    to_ = k_ * Pitch + row;
    from_ = data + int64_t{first} * side.stride + int64_t{depth + k_} * side.depth_stride;
    // Behind the last row any will do, as its results are not stored.
    UNROLL
    for (int i = 0; i < kCount; ++i) offset_[i] = min(row + i * kStep, side.count - 1 - first) * side.stride;
  }
  // `left`: the depth that the slab has; zeros are copied for the rest.
  __device__ __forceinline__ void load(float* slab, int left, int depth_stride) {
    const int bytes = k_ < left ? 4 : 0;
    UNROLL
    for (int i = 0; i < kCount; ++i) cp_async<4>(slab + to_ + i * kStep, from_ + offset_[i], bytes);
    from_ += int64_t{8} * depth_stride;
  }

 private:
  static constexpr int kStep = Threads / 8, kCount = Extent / kStep;
  const float* from_;
  int k_, to_;
  int offset_[kCount];
};

// Four neighbours in C, of which `left` are inside.
__device__ __forceinline__ void store_four(float* to, float4 sum, int left, const Arguments& g) {
  if (g.vectors && left >= 4) {
    if (g.accumulate) {
      const float4 old = *reinterpret_cast<const float4*>(to);
      sum = make_float4(old.x + sum.x, old.y + sum.y, old.z + sum.z, old.w + sum.w);
    }
    *reinterpret_cast<float4*>(to) = sum;
    return;
  }
  const float values[4] = {sum.x, sum.y, sum.z, sum.w};
  UNROLL
  for (int i = 0; i < 4; ++i)
    if (i < left) to[i] = g.accumulate ? to[i] + values[i] : values[i];
}

// `c` at the thread's corner, of which `rows` and `columns` are left.
template <typename T>
__device__ __forceinline__ void store_sums(const Arguments& g, float* c, int rows, int columns,
                                           const float (&sums)[8][8]) {
  UNROLL
  for (int i = 0; i < 8; ++i) {
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const int j = 4 * half;
      if (g.c_column == 1) {
        const int row = i % 4 + i / 4 * (T::kRows / 2), column = half * (T::kColumns / 2);
        if (row < rows)
          store_four(c + int64_t{row} * g.c_row + column,
                     make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]),
                     columns - column, g);
      } else {
        const int column = i % 4 + i / 4 * (T::kColumns / 2), row = half * (T::kRows / 2);
        if (column < columns)
          store_four(c + int64_t{column} * g.c_column + row,
                     make_float4(sums[j][i], sums[j + 1][i], sums[j + 2][i], sums[j + 3][i]), rows - row, g);
      }
    }
  }
}

struct Part {
  int first_row, first_column, split, batch;
};

// Blocks count the columns' tiles first, so that blocks that run at the same time share rows of A.
template <typename T>
__device__ __forceinline__ Part part_of_block(const Arguments& g) {
  const int across = (g.b.count + T::kColumns - 1) / T::kColumns,
            down = (g.a.count + T::kRows - 1) / T::kRows;
  int rest = static_cast<int>(blockIdx.x);
  Part part;
  part.first_column = rest % across * T::kColumns;
  rest /= across;
  part.first_row = rest % down * T::kRows;
  rest /= down;
  part.split = rest % g.splits;
  part.batch = rest / g.splits;
  return part;
}

template <typename T>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks) sgemm_kernel(const __grid_constant__ Arguments g) {
  __shared__ __align__(16) float ring[T::kStages * T::kStageFloats];
  __shared__ Part shared_part;  // here, not in registers, until the sums are stored
  if (threadIdx.x == 0) shared_part = part_of_block<T>(g);
  __syncthreads();
  const Part part = shared_part;
  const int begin = part.split * g.split_depth, depth = min(g.depth - begin, g.split_depth);
  Loader<T::kRows, T::kRowPitch, T::kThreads> a(g.a, g.a.data + part.batch * g.a.batch_stride, part.first_row,
                                                begin);
  Loader<T::kColumns, T::kColumnPitch, T::kThreads> b(g.b, g.b.data + part.batch * g.b.batch_stride,
                                                      part.first_column, begin);
  const auto load = [&](float* slab, int left) {
    if (left > 0) {
      a.load(slab, left, g.a.depth_stride);
      b.load(slab + T::kDepth * T::kRowPitch, left, g.b.depth_stride);
    }
    cp_async_commit_group();
  };
  constexpr int kAhead = T::kStages - 1;
  UNROLL
  for (int stage = 0; stage < kAhead; ++stage)
    load(ring + stage * T::kStageFloats, depth - stage * T::kDepth);

  const Corner at = corner<T::kColumns>();
  float sums[8][8] = {};
  int now = 0, next = kAhead * T::kStageFloats;  // where the slabs of this round begin in the ring
  for (int left = depth; left > 0; left -= T::kDepth) {
    cp_async_wait_group<kAhead - 1>();
    __syncthreads();  // this slab is there for all, and all have left the one before
    load(ring + next, left - kAhead * T::kDepth);
    const float* const slab = ring + now;
    multiply_slab<T::kRows, T::kColumns, T::kDepth, T::kRowPitch, T::kColumnPitch>(
        slab + at.m, slab + T::kDepth * T::kRowPitch + at.n, sums);
    next = now;
    now = now == kAhead * T::kStageFloats ? 0 : now + T::kStageFloats;
  }

  const int row = shared_part.first_row + at.m, column = shared_part.first_column + at.n;
  float* const c = g.c + shared_part.batch * g.c_batch + shared_part.split * g.c_split +
                   int64_t{row} * g.c_row + int64_t{column} * g.c_column;
  store_sums<T>(g, c, g.a.count - row, g.b.count - column, sums);
}

// One thread an element; `partials` as [count][batch][row][column].
constexpr int kAddThreads = 256;
__global__ void __launch_bounds__(kAddThreads)
    add_kernel(const float* __restrict__ partials, float* __restrict__ c, int64_t c_batch, int64_t c_stride,
               int rows, int columns, int batch, int count, bool accumulate) {
  const int64_t all = int64_t{rows} * columns * batch;
  const int64_t element = int64_t{blockIdx.x} * kAddThreads + threadIdx.x;
  if (element >= all) return;
  const int64_t row = element / columns, image = row / rows;
  float* const to = c + image * c_batch + (row - image * rows) * c_stride + (element - row * columns);
  float sum = accumulate ? *to : 0.0f;
  for (int i = 0; i < count; ++i) sum += partials[i * all + element];
  *to = sum;
}

bool in_fours(const void* data, int64_t stride, int64_t batch_stride) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && stride % 4 == 0 && batch_stride % 4 == 0;
}

Arguments arguments_of(const SgemmProduct& p, const SgemmCut& cut, float* partials) {
  const bool a_turned = p.a.op != MatrixOp::none, b_turned = p.b.op != MatrixOp::none;
  const int a_stride = static_cast<int>(p.a.stride), b_stride = static_cast<int>(p.b.stride);
  Arguments g;
  g.a = {p.a.data, p.a.batch_stride, p.rows, a_turned ? 1 : a_stride, a_turned ? a_stride : 1};
  g.b = {p.b.data, p.b.batch_stride, p.columns, b_turned ? b_stride : 1, b_turned ? 1 : b_stride};
  g.depth = p.depth;
  g.splits = cut.splits;
  g.split_depth = cut.split_depth;
  const bool split = cut.splits > 1;
  const int64_t matrix = int64_t{p.rows} * p.columns;
  g.c = split ? partials : p.c.data;
  g.c_row = split ? p.columns : static_cast<int>(p.c.stride);
  g.c_column = 1;
  g.c_batch = split ? matrix : p.c.batch_stride;
  g.c_split = matrix * p.batch;
  g.accumulate = !split && p.beta != 0.0f;
  g.vectors = in_fours(g.c, g.c_row, g.c_batch | (split ? g.c_split : 0));
  if (p.rows < p.columns) {  // the longer side is the rows
    std::swap(g.a, g.b);
    std::swap(g.c_row, g.c_column);
  }
  return g;
}

template <int Columns>
void launch_tile(const Arguments& g, int batch, Queue& queue) {
  using T = Tile<Columns>;
  const int64_t across = (g.b.count + T::kColumns - 1) / T::kColumns,
                down = (g.a.count + T::kRows - 1) / T::kRows;
  launch(sgemm_kernel<T>, static_cast<unsigned>(across * down * g.splits * batch), T::kThreads, 0, queue, g);
}

}  // namespace

void sgemm(const SgemmProduct& product, const SgemmCut& cut, float* partials, Queue& queue) {
  const Arguments g = arguments_of(product, cut, partials);
  if (cut.columns == im2col_gemm::kSgemmColumns[0])
    launch_tile<im2col_gemm::kSgemmColumns[0]>(g, product.batch, queue);
  else if (cut.columns == im2col_gemm::kSgemmColumns[1])
    launch_tile<im2col_gemm::kSgemmColumns[1]>(g, product.batch, queue);
  else
    launch_tile<im2col_gemm::kSgemmColumns[2]>(g, product.batch, queue);
  if (cut.splits > 1) add_partials(product, partials, cut.splits, queue);
}

void add_partials(const SgemmProduct& product, const float* partials, int count, Queue& queue) {
  const int64_t elements = int64_t{product.rows} * product.columns * product.batch;
  launch(add_kernel, static_cast<unsigned>((elements + kAddThreads - 1) / kAddThreads), kAddThreads, 0, queue,
         partials, product.c.data, product.c.batch_stride, product.c.stride, product.rows, product.columns,
         product.batch, count, product.beta != 0.0f);
}

}  // namespace convscope::CONVSCOPE_KERNELS
