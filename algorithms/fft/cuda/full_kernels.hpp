// Layout kernels of fft.full.cuda: padding and cropping between tensors and dense planes, and transposing
// spectra from plane by plane to bin by bin. A plane is one channel of an image or of a filter. For .cu
// files; the plan is full_plan.cu.
#pragma once

#include <cstdint>

#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// `outer` x `inner` planes of a tensor: plane (outer, inner) starts at outer * outer_stride + inner *
// inner_stride. `inner` is the index in which a matrix of spectra is contiguous.
struct TensorPlanes {
  int outer, inner;
  int64_t outer_stride, inner_stride;  // elements
  int h, w;                            // of a plane in the tensor
  int64_t h_stride, w_stride;
};

// A dense plane of rows x columns, in which the tensor's plane starts at (first_h, first_w).
struct PaddedPlane {
  int rows, columns, first_h, first_w;
};

// planes[outer][inner][row][column], zero around the tensor's plane.
void pad_planes(const float* tensor, const TensorPlanes& shape, const PaddedPlane& padded, float* planes,
                Queue& queue);
// The part of the dense planes that lies in the tensor, times scale.
void crop_planes(const float* planes, const PaddedPlane& padded, float scale, const TensorPlanes& shape,
                 float* tensor, Queue& queue);

// to[column][row] = from[row][column]; rows x columns as they are stored in `from`, dense.
void transpose_spectra(const float2* from, int64_t rows, int64_t columns, float2* to, Queue& queue);

}  // namespace convscope::CONVSCOPE_KERNELS
