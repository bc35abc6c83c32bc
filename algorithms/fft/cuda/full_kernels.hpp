// Layout kernels of fft.full.cuda: padding and cropping between tensors and dense images, and transposing
// spectra from image by image to bin by bin. For .cu files; the plan is full_plan.cu.
#pragma once

#include <cstdint>

#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// `outer` x `inner` images of a tensor: image (outer, inner) starts at outer * outer_stride + inner *
// inner_stride. `inner` is the index in which a matrix of spectra is contiguous.
struct TensorImages {
  int outer, inner;
  int64_t outer_stride, inner_stride;  // elements
  int h, w;                            // of an image in the tensor
  int64_t h_stride, w_stride;
};

// A dense image of rows x columns, in which the tensor's image starts at (first_h, first_w).
struct PaddedImage {
  int rows, columns, first_h, first_w;
};

// images[outer][inner][row][column], zero around the tensor's image.
void pad_images(const float* tensor, const TensorImages& shape, const PaddedImage& image, float* images,
                Queue& queue);
// The part of the dense images that lies in the tensor, times scale.
void crop_images(const float* images, const PaddedImage& image, float scale, const TensorImages& shape,
                 float* tensor, Queue& queue);

// to[column][row] = from[row][column]; rows x columns as they are stored in `from`, dense.
void transpose_spectra(const float2* from, int64_t rows, int64_t columns, float2* to, Queue& queue);

}  // namespace convscope::CONVSCOPE_KERNELS
