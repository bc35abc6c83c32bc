// The 2-D transforms of some rows of tiles for one vector of channels, between a tensor and the planes of the
// batched product. Each is rows then columns of the 1-D transforms. Runs on the calling thread.
#pragma once

#include <cstdint>

#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

// What a tile contributes: its alpha x alpha inputs (data) or its own m x m outputs' gradient (kernel of the
// backward-filter pass).
enum class TileOperand { data, gradient };

// A thread's scratch memory, floats.
struct Scratch {
  float* staged;  // staged_floats()
  float* lines;   // kLineFloats vectors
};
inline constexpr int64_t kLineVectors = kLargestAlpha * kLargestAlpha;
// For `rows` rows of tiles.
int64_t staged_floats(const Geometry& geometry, int64_t rows, int lanes);

// Reads some rows of tiles of the view and writes them to `planes`. `tensor` points at the group.
void transform_tiles(const VectorKernels& kernels, const Geometry& geometry, TileOperand operand,
                     const TensorView& view, const float* tensor, const Block& block, const TileRows& rows,
                     int64_t vector, const PlaneLayout& layout, float* planes, const Scratch& scratch);

// Reads their products from `planes`, writes their output pixels to the tensor.
void inverse_tiles(const VectorKernels& kernels, const Geometry& geometry, const TensorView& view,
                   float* tensor, const Block& block, const TileRows& rows, int64_t vector,
                   const PlaneLayout& layout, const float* planes, const Scratch& scratch);

}  // namespace convscope::winograd
