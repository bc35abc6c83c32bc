// The batched SGEMM on a GPU that im2col and the non-fused Winograd plans share: C (=|+=) A * B for many
// matrices in one launch. A block computes kRows x kColumns of one C, 8 x 8 sums per thread
// (register_tile.cuh), from slabs of 8 along the depth that pass through a ring of stages in shared memory,
// one barrier per slab.
//
// Two loaders bring slabs to shared memory. CopiedSlabs: asynchronous copies of 4 bytes, four stages; rows
// may begin anywhere, and an operand is transposed at no cost. StagedSlabs: 16 bytes through registers, two
// stages; a third to a sixth of the copies, for matrices whose sizes and strides are multiples of 4 floats.
//
// A Batch says which product a block computes and where its matrices are:
//   SgemmBlock block<T>(int index)      runs once in each block
//   int a_stride(), b_stride()          see the loaders
//   int c_row(), c_column()             between rows and columns of C; one of the two is 1
//   bool accumulate()                   C += instead of C =
//   kWholeFours                         of each four of C all or none are inside, and they are aligned; else
//   bool vectors()                      C may be accessed 16 bytes at a time
//   kFinishes, finish<T>(block, corner, sums)  whether and what to do to whole sums, C's included where it
//                                       accumulates, before they replace C
// Included by .cu files only.
#pragma once

#include "algorithms/common/register_tile.cuh"
#include "algorithms/common/tally.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// Run: a sum stays in registers for this many products and is then added to C, as rounding errors grow with
// the number of additions that follow one another; 0: for the whole depth.
template <int Rows, int Columns, int Stages, int BlocksPerMultiprocessor, int Run>
struct SgemmTile {
  static constexpr int kRows = Rows, kColumns = Columns, kDepth = 8, kThreads = Rows * Columns / 64;
  static constexpr int kBlocks = BlocksPerMultiprocessor, kRun = Run;
  // Slabs are [k][row]; four floats more than the rows keep transposed stores on different banks.
  static constexpr int kRowPitch = kRows + 4, kColumnPitch = kColumns + 4;
  static constexpr int kStages = Stages, kStageFloats = kDepth * (kRowPitch + kColumnPitch);
  static_assert(Run % kDepth == 0);
};

// One block's part of one product, from the first row, column and depth of the block on. No rows or no
// columns: nothing is computed.
struct SgemmBlock {
  const float *a, *b;
  float* c;
  int rows, columns, depth;
};

// One operand's share of a slab for CopiedSlabs. Element (row, k) is at row * stride + k * depth_stride; one
// of the strides is 1. A thread copies rows first, first + kStep, ... at one k: neighbouring lanes take
// neighbouring rows, or 8 lanes the 8 k of a row, whichever are neighbours in memory.
template <int Extent, int Pitch, int Threads>
class CopyLoader {
 public:
  __device__ __forceinline__ CopyLoader(const float* data, int rows, int stride, int depth_stride) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool along = stride == 1;
    const int row = along ? thread % kStep : thread / 8;
    k_ = along ? thread / kStep : thread % 8;
    to_ = k_ * Pitch + row;
    from_ = data + int64_t{k_} * depth_stride;
    // Behind the last row any will do, as its results are not stored.
    UNROLL
    for (int i = 0; i < kCount; ++i) offset_[i] = min(row + i * kStep, rows - 1) * stride;
  }
  // `left`: the depth that the slab has; zeros are copied for the rest.
  __device__ __forceinline__ void load(float* slab, int left, int depth_stride) {
    const int bytes = k_ < left ? 4 : 0;
    UNROLL
    for (int i = 0; i < kCount; ++i) cp_async<4>(slab + to_ + i * kStep, from_ + offset_[i], bytes);
    tally_staged(4 * kCount);
    from_ += int64_t{8} * depth_stride;
  }

 private:
  static constexpr int kStep = Threads / 8, kCount = Extent / kStep;
  const float* from_;
  int k_, to_;
  int offset_[kCount];
};

// The ring as asynchronous copies fill it. Batch::a_stride() is between rows of A, a_depth_stride() between
// its depths; likewise for columns of B.
struct CopiedSlabs {
  template <typename T, typename Batch>
  class Ring {
   public:
    __device__ __forceinline__ Ring(const Batch& batch, const SgemmBlock& block, float* ring)
        : a_(block.a, block.rows, batch.a_stride(), batch.a_depth_stride()),
          b_(block.b, block.columns, batch.b_stride(), batch.b_depth_stride()),
          ring_(ring) {}
    __device__ __forceinline__ void start(const Batch& batch, int depth) {
      UNROLL
      for (int stage = 0; stage < kPrefetched; ++stage)
        load(batch, ring_ + stage * T::kStageFloats, depth - stage * T::kDepth);
    }
    // Makes the next slab visible and starts to load a later one; `left` is the depth from that slab on.
    __device__ __forceinline__ void begin(const Batch& batch, int left) {
      cp_async_wait_group<kPrefetched - 1>();
      __syncthreads();  // this slab is there for all, and all have left the one before
      load(batch, ring_ + next_, left - kPrefetched * T::kDepth);
    }
    __device__ __forceinline__ const float* slab() const { return ring_ + now_; }
    __device__ __forceinline__ void end() {
      next_ = now_;
      now_ = now_ == kPrefetched * T::kStageFloats ? 0 : now_ + T::kStageFloats;
    }

   private:
    static constexpr int kPrefetched = T::kStages - 1;
    __device__ __forceinline__ void load(const Batch& batch, float* slab, int left) {
      if (left > 0) {
        a_.load(slab, left, batch.a_depth_stride());
        b_.load(slab + T::kDepth * T::kRowPitch, left, batch.b_depth_stride());
      }
      cp_async_commit_group();
    }
    CopyLoader<T::kRows, T::kRowPitch, T::kThreads> a_;
    CopyLoader<T::kColumns, T::kColumnPitch, T::kThreads> b_;
    float* const ring_;
    int now_ = 0, next_ = kPrefetched * T::kStageFloats;  // where slabs begin in the ring
  };
};

// One operand's share of a slab for StagedSlabs: which 16 bytes a thread moves. DepthContiguous: element
// (row, k) is at row * stride + k, otherwise at k * stride + row.
template <int Extent, int Pitch, int Threads, bool DepthContiguous>
class StagedLoader {
 public:
  __device__ __forceinline__ StagedLoader(const float* data, int rows, int stride) {
    const int thread = static_cast<int>(threadIdx.x);
    const int minor = thread % kAlong * 4;
    to_ = DepthContiguous ? minor * Pitch + thread / kAlong : thread / kAlong * Pitch + minor;
    k_ = DepthContiguous ? minor : thread / kAlong;
    UNROLL
    for (int e = 0; e < kCount; ++e) {
      const int major = thread / kAlong + e * kStep;
      const int row = DepthContiguous ? major : minor, k = DepthContiguous ? minor : major;
      const int inside = row < rows ? row : 0;  // what is read for rows outside is not stored
      from_[e] = data + (DepthContiguous ? int64_t{inside} * stride + k : int64_t{k} * stride + inside);
    }
  }
  // The next slab, which has `left` of the depth; zeros for the rest.
  __device__ __forceinline__ void load(int left, int stride) {
    UNROLL
    for (int e = 0; e < kCount; ++e) {
      values_[e] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (has(e) && k_ + (DepthContiguous ? 0 : e * kStep) < left)
        values_[e] = *reinterpret_cast<const float4*>(from_[e]);
      from_[e] += DepthContiguous ? 8 : int64_t{8} * stride;
      tally_staged(has(e) && left > 0 ? 16 : 0);
    }
  }
  __device__ __forceinline__ void store(float* slab) const {
    UNROLL
    for (int e = 0; e < kCount; ++e) {
      if (!has(e)) continue;
      float* const at = slab + to_ + e * (DepthContiguous ? kStep : kStep * Pitch);
      if constexpr (DepthContiguous) {
        at[0] = values_[e].x;
        at[Pitch] = values_[e].y;
        at[2 * Pitch] = values_[e].z;
        at[3 * Pitch] = values_[e].w;
      } else {
        *reinterpret_cast<float4*>(at) = values_[e];
      }
    }
  }

 private:
  static constexpr int kVectors = Extent * 8 / 4, kCount = (kVectors + Threads - 1) / Threads;
  static constexpr int kAlong = (DepthContiguous ? 8 : Extent) / 4;
  static_assert(Threads % kAlong == 0, "a thread's vectors are a constant step apart");
  static constexpr int kStep = Threads / kAlong;  // rows, or k where rows are contiguous
  // Whether this thread has an e-th vector.
  static __device__ __forceinline__ bool has(int e) {
    return kVectors % Threads == 0 || static_cast<int>(threadIdx.x) + e * Threads < kVectors;
  }
  const float* from_[kCount];
  int k_, to_;
  float4 values_[kCount];
};

// The ring as threads fill it: a slab is loaded into registers while the previous one is multiplied.
template <bool DepthContiguous>
struct StagedSlabs {
  template <typename T, typename Batch>
  class Ring {
   public:
    __device__ __forceinline__ Ring(const Batch& batch, const SgemmBlock& block, float* ring)
        : a_(block.a, block.rows, batch.a_stride()),
          b_(block.b, block.columns, batch.b_stride()),
          ring_(ring) {
      static_assert(T::kStages == 2);
    }
    __device__ __forceinline__ void start(const Batch& batch, int depth) {
      load(batch, depth);
      store();
    }
    __device__ __forceinline__ void begin(const Batch& batch, int left) { load(batch, left - T::kDepth); }
    __device__ __forceinline__ const float* slab() const { return ring_ + now_; }
    __device__ __forceinline__ void end() {
      now_ = T::kStageFloats - now_;
      store();
    }

   private:
    __device__ __forceinline__ void load(const Batch& batch, int left) {
      a_.load(left, batch.a_stride());
      b_.load(left, batch.b_stride());
    }
    __device__ __forceinline__ void store() {
      a_.store(ring_ + now_);
      b_.store(ring_ + now_ + T::kDepth * T::kRowPitch);
      __syncthreads();
    }
    StagedLoader<T::kRows, T::kRowPitch, T::kThreads, DepthContiguous> a_;
    StagedLoader<T::kColumns, T::kColumnPitch, T::kThreads, DepthContiguous> b_;
    float* const ring_;
    int now_ = 0;
  };
};

// Four neighbours in C, of which `left` are inside.
__device__ __forceinline__ void store_four(float* to, float4 sum, int left, bool vectors, bool accumulate) {
  if (vectors && left >= 4) {
    if (accumulate) {
      const float4 old = *reinterpret_cast<const float4*>(to);
      sum = make_float4(old.x + sum.x, old.y + sum.y, old.z + sum.z, old.w + sum.w);
    }
    *reinterpret_cast<float4*>(to) = sum;
    return;
  }
  const float values[4] = {sum.x, sum.y, sum.z, sum.w};
  UNROLL
  for (int i = 0; i < 4; ++i)
    if (i < left) to[i] = accumulate ? to[i] + values[i] : values[i];
}

// Fours along the contiguous dimension of C.
template <typename T, typename Batch>
__device__ __forceinline__ void store_sums(const Batch& batch, const SgemmBlock& block, const Corner& at,
                                           const float (&sums)[8][8], bool accumulate) {
  const int rows = block.rows - at.m, columns = block.columns - at.n;
  float* const c = block.c + int64_t{at.m} * batch.c_row() + int64_t{at.n} * batch.c_column();
  const auto store = [&](float* to, float4 sum, int left) {
    if constexpr (Batch::kWholeFours) {
      if (left > 0) store_four(to, sum, 4, true, accumulate);
    } else {
      store_four(to, sum, left, batch.vectors(), accumulate);
    }
  };
  UNROLL
  for (int i = 0; i < 8; ++i) {
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const int j = 4 * half;
      if (batch.c_column() == 1) {
        const int row = i % 4 + i / 4 * (T::kRows / 2), column = half * (T::kColumns / 2);
        if (row < rows)
          store(c + int64_t{row} * batch.c_row() + column,
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]), columns - column);
      } else {
        const int column = i % 4 + i / 4 * (T::kColumns / 2), row = half * (T::kRows / 2);
        if (column < columns)
          store(c + int64_t{column} * batch.c_column() + row,
                make_float4(sums[j][i], sums[j + 1][i], sums[j + 2][i], sums[j + 3][i]), rows - row);
      }
    }
  }
}

template <typename T, typename Slabs, typename Batch>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks) sgemm_kernel(const __grid_constant__ Batch batch) {
  __shared__ __align__(16) float ring[T::kStages * T::kStageFloats];
  __shared__ SgemmBlock block;  // here, not in registers, until the sums are stored
  if (threadIdx.x == 0) block = batch.template block<T>(static_cast<int>(blockIdx.x));
  __syncthreads();
  if (block.rows <= 0 || block.columns <= 0) return;
  const int depth = block.depth;
  typename Slabs::template Ring<T, Batch> slabs(batch, block, ring);
  slabs.start(batch, depth);

  const Corner at = corner<T::kColumns>();
  for (int left = depth;;) {
    float sums[8][8] = {};
    const int stop = T::kRun == 0 ? 0 : max(left - T::kRun, 0);
    for (; left > stop; left -= T::kDepth) {
      slabs.begin(batch, left);
      const float* const slab = slabs.slab();
      multiply_slab<T::kRows, T::kColumns, T::kDepth, T::kRowPitch, T::kColumnPitch>(
          slab + at.m, slab + T::kDepth * T::kRowPitch + at.n, sums);
      tally_product(2 * 64 * T::kDepth);
      slabs.end();
    }
    if constexpr (Batch::kFinishes) {
      static_assert(T::kRun == 0);
      batch.template finish<T>(block, at, sums);
      return store_sums<T>(batch, block, at, sums, false);
    }
    if constexpr (T::kRun == 0) return store_sums<T>(batch, block, at, sums, batch.accumulate());
    store_sums<T>(batch, block, at, sums, batch.accumulate() || stop + T::kRun < block.depth);
    if (left <= 0) return;
  }
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS
