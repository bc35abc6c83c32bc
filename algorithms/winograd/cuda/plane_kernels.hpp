// What the plans of the CUDA rows launch. Included by .cu files only: each function exists once for the GPU
// and once for the emulator.
#pragma once

#include "algorithms/winograd/cuda/plane_layout.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// What a tile of a tensor contributes to the planes: its alpha x alpha inputs (data), or its own outputs'
// gradient or the taps of a filter (kernel).
enum class TileOperand { data, kernel };

// Everything that the transforms between a tensor and planes need beyond the operand.
struct TileTransform {
  winograd::TensorMap map;
  winograd::TileClasses classes;
  winograd::PlaneStrides planes_at;
  int points_w = 1;               // planes are numbered point_h * points_w + point_w
  bool lanes_contiguous = false;  // in the planes
  int splits = 1;                 // sets of planes, added before the inverse
  int64_t split = 0;              // floats between them
};

// Writes the tiles of `tensor` (at the first image of the chunk) to the planes, the zeros behind included.
void transform_tiles(TileOperand operand, const TileTransform& what, const float* tensor, float* planes,
                     Queue& queue);
// Reads products from the planes, writes pixels to the tensor.
void invert_tiles(const TileTransform& what, const float* planes, float* tensor, Queue& queue);
void multiply_planes(const winograd::GemmArguments& arguments, Queue& queue);

}  // namespace convscope::CONVSCOPE_KERNELS
