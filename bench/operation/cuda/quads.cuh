// Four neighbours of a tensor that begin on 16 bytes, as one access of a thread. A range, a plane for one,
// may begin and end inside a quad; what lies outside belongs to others and is neither read nor written.
#pragma once

#include <algorithm>

#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

constexpr int kQuadThreads = 256;

// Elements 4 quad to 4 quad + 3 of `values`; 0 outside [begin, end).
__device__ __forceinline__ void load_quad(const float* values, int64_t quad, int64_t begin, int64_t end,
                                          float (&to)[4]) {
  const int64_t first = 4 * quad;
  if (first >= begin && first + 4 <= end) {
    const float4 all = *reinterpret_cast<const float4*>(values + first);
    to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
    return;
  }
  UNROLL
  for (int lane = 0; lane < 4; ++lane) {
    const int64_t at = first + lane;
    to[lane] = at >= begin && at < end ? values[at] : 0.0f;
  }
}

__device__ __forceinline__ void store_quad(float* values, int64_t quad, int64_t begin, int64_t end,
                                           const float (&from)[4]) {
  const int64_t first = 4 * quad;
  if (first >= begin && first + 4 <= end) {
    *reinterpret_cast<float4*>(values + first) = make_float4(from[0], from[1], from[2], from[3]);
    return;
  }
  UNROLL
  for (int lane = 0; lane < 4; ++lane)
    if (first + lane >= begin && first + lane < end) values[first + lane] = from[lane];
}

// Blocks of kQuadThreads for a tensor whose quads each are looked at once, a grid apart: about as many as a
// GPU has room for at once.
inline unsigned quad_blocks(int64_t elements) {
  return static_cast<unsigned>(std::min(int64_t{2048}, ceil_div(elements, int64_t{4 * kQuadThreads})));
}

}  // namespace convscope::CONVSCOPE_KERNELS
