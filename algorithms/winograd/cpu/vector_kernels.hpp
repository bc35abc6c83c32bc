// The vector code of Winograd in one table: 1-D transforms of every size, and moves between a tensor and the
// staged form [position][lane], in which a vector holds one pixel of `lanes` channels. The two dimensions of
// a tile are two calls, so mixed tile sizes need no code for each pair. Knows nothing of layers or tiles.
#pragma once

#include <cstdint>

#include "algorithms/winograd/toom_cook.hpp"

namespace convscope::winograd {

// Applies one matrix to `count` lines. Element i of line l is the vector at in + i * in_stride + l * in_next;
// strides in floats, pointers aligned to a vector.
using Line = void (*)(const float* in, int64_t in_stride, int64_t in_next, float* out, int64_t out_stride,
                      int64_t out_next, int64_t count);

// More than kLargestAlpha points have at most kLargestAlpha taps and outputs.
struct VectorKernels {
  int lanes = 0;
  Line data[kLargestAlpha1d + 1] = {};                                // [alpha]: alpha inputs to alpha points
  Line evaluate[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};         // [alpha][n]: n taps to alpha points
  Line stream_evaluate[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};  // the same with streaming stores
  Line interpolate[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};      // [alpha][n]: alpha points to n outputs

  // Rows of a tensor to the staged form, whose lanes from `used` on become zero, and back, where those lanes
  // are dropped.
  //   pack_planes:   staged[x][l] = in[l * lane_stride + x]
  //   pack_pixels:   staged[x][l] = in[x * position_stride + l]
  void (*pack_planes)(const float* in, int64_t lane_stride, int64_t count, int64_t used, float* staged);
  void (*pack_pixels)(const float* in, int64_t position_stride, int64_t count, int64_t used, float* staged);
  void (*unpack_planes)(const float* staged, float* out, int64_t lane_stride, int64_t count, int64_t used);
  void (*unpack_pixels)(const float* staged, float* out, int64_t position_stride, int64_t count,
                        int64_t used);
};

// For the instruction set in use.
const VectorKernels& vector_kernels();

}  // namespace convscope::winograd
