// Moves pixels between a TensorView and the staged form [row][column][lane] of vector_kernels.hpp, in which a
// vector holds one pixel of as many lanes. What lies outside the tensor is zero when read and dropped when
// written.
#pragma once

#include <cstdint>

#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

// A rectangle of pixels of image n; it may reach outside the tensor.
struct Region {
  int64_t n = 0;
  int64_t h = 0, w = 0;
  int64_t rows = 0, columns = 0;
};

// Lanes [vector * kernels.lanes, +kernels.lanes) of the region. `tensor` points at the channel group's first
// channel.
void gather(const VectorKernels& kernels, const TensorView& view, const float* tensor, const Region& region,
            int64_t vector, float* staged);
void scatter(const VectorKernels& kernels, const TensorView& view, const float* staged, const Region& region,
             int64_t vector, float* tensor);

}  // namespace convscope::winograd
