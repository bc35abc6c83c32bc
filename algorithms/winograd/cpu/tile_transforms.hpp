// The 2-D transforms of some rows of tiles for one vector of channels, between a tensor and the planes of the
// batched product: into points, 1-D transforms of rows, then of columns; back, of columns, then of rows. Runs
// on the calling thread.
#pragma once

#include <cstdint>

#include "algorithms/winograd/cpu/tile_order.hpp"
#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

// Scratch memory of one thread, floats.
struct Scratch {
  float* staged;  // staged_floats()
  float* lines;   // kLineVectors vectors
};
inline constexpr int64_t kLineVectors = kLargestAlpha * kLargestAlpha;
// For `rows` rows of tiles.
int64_t staged_floats(const Geometry& geometry, int64_t rows, int lanes);

// Reads some rows of tiles of the view and writes their points to `planes`. `tensor` points at the channel
// group.
void transform_tiles(const VectorKernels& kernels, const Geometry& geometry, TileOperand operand,
                     const TensorView& view, const float* tensor, const Block& block, const TileRows& rows,
                     int64_t vector, const PlaneLayout& layout, float* planes, const Scratch& scratch);

// Reads the products of some rows of tiles from `planes`, applies the problem's epilogue and writes their
// outputs to the tensor. `bias` is that of the channel group's first channel, or null.
void inverse_tiles(const VectorKernels& kernels, const Geometry& geometry, const TensorView& view,
                   const float* bias, float* tensor, const Block& block, const TileRows& rows, int64_t vector,
                   const PlaneLayout& layout, const float* planes, const Scratch& scratch);

// Additions and multiplications of one lane of all tiles of one image.
double transform_flops(const Geometry& geometry, TileOperand operand);
double inverse_flops(const Geometry& geometry);

}  // namespace convscope::winograd
