// The inner loop that the SGEMM kernels share: a block's tile of C, 8 x 8 sums per thread as four
// 4 x 4 quarters, so that its operands are four 16-byte loads from shared memory for 64 multiply-adds. Not
// here: how slabs of A and B come to shared memory, and where the sums go. Included by .cu files only.
#pragma once

#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// The first row and column of a thread; the other quarters are half a tile further.
struct Corner {
  int m, n;
};

// A warp is 4 x 8 threads (8 x 4 where the tile has 32 columns): its loads of A are broadcasts, those of B
// one row of at most 128 bytes.
template <int Columns>
__device__ __forceinline__ Corner corner() {
  constexpr int across = Columns / 2 < 32 ? Columns / 8 : 8, down = 32 / across;
  constexpr int warps_across = Columns / 8 / across;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  return {(warp / warps_across * down + lane / across) * 4,
          (warp % warps_across * across + lane % across) * 4};
}

// Eight values, four at `from` and four `apart` behind.
__device__ __forceinline__ void load_eight(float (&to)[8], const float* from, int apart) {
  const float4 low = *reinterpret_cast<const float4*>(from),
               high = *reinterpret_cast<const float4*>(from + apart);
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

// Adds the products of one slab. Slabs are [k][row] and [k][column], at the thread's corner; pitches in
// floats.
template <int Rows, int Columns, int Depth, int APitch, int BPitch>
__device__ __forceinline__ void multiply_slab(const float* a_slab, const float* b_slab, float (&sums)[8][8]) {
  UNROLL
  for (int k = 0; k < Depth; ++k) {
    float a_values[8], b_values[8];
    load_eight(a_values, a_slab + k * APitch, Rows / 2);
    load_eight(b_values, b_slab + k * BPitch, Columns / 2);
    UNROLL
    for (int i = 0; i < 8; ++i) {
      UNROLL
      for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(a_values[i], b_values[j], sums[i][j]);
    }
  }
}

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS
