// One group of an activation tensor as the tiles see it: pixels of a unit-stride image whose channels are the
// (phase, channel) pairs of the real one. Moves pixels to and from the staged form of vector_kernels.hpp;
// what lies outside the tensor is zero when read and dropped when written.
#pragma once

#include <cstdint>

#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "algorithms/winograd/tiling.hpp"
#include "bench/core/problem.hpp"

namespace convscope::winograd {

// A rectangle of pixels; it may reach outside the tensor.
struct Region {
  int64_t h = 0, w = 0;
  int64_t rows = 0, columns = 0;
};

// Pixel (h, w) of lane (phase, c) is the tensor's (h * step + phase - origin, channel c).
struct TensorView {
  TensorShape shape;
  int64_t channels = 1;  // of one group
  Phases phases;         // one phase at (0, 0) where there is no stride
  Extent2 origin{0, 0};

  int64_t lanes() const { return static_cast<int64_t>(phases.offsets.size()) * channels; }

  // Lanes [vector * kernels.lanes, +kernels.lanes) of image n, to or from staged[rows][columns][lane].
  // `tensor` points at the group's first channel.
  void gather(const VectorKernels& kernels, const float* tensor, int64_t n, const Region& region,
              int64_t vector, float* staged) const;
  void scatter(const VectorKernels& kernels, const float* staged, int64_t n, const Region& region,
               int64_t vector, float* tensor) const;

 private:
  struct Window;
  Window window(const Region& region, Extent2 phase) const;
  bool narrow_rows(const Window& part) const;
  void gather_narrow_rows(const VectorKernels& kernels, const float* plane, const Window& part,
                          const Region& region, int64_t used, float* staged) const;
};

}  // namespace convscope::winograd
