// What the plans of the CUDA variants launch, and what that costs. Included by .cu files only: each function
// exists once for the GPU and once for the emulator.
#pragma once

#include "algorithms/winograd/cuda/plane_layout.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// Everything that the transforms between a tensor and planes need beyond the operand.
struct TileTransform {
  winograd::TensorAddressing addressing;
  winograd::TileClasses classes;
  winograd::PlaneStrides planes_at;
  int points_w = 1;               // planes are numbered point_h * points_w + point_w
  bool lanes_contiguous = false;  // in the planes
  int splits = 1;                 // sets of planes, added before the inverse
  int64_t split = 0;              // floats between them
};

// Writes the tiles of `tensor` (at the first image of the chunk) to the planes, with the zeros that pad them.
void transform_tiles(winograd::TileOperand operand, const TileTransform& what, const float* tensor,
                     float* planes, Queue& queue);
// Reads products from the planes, writes outputs to the tensor, with the epilogue and its bias.
void invert_tiles(const TileTransform& what, const float* planes, float* tensor, Queue& queue,
                  Epilogue epilogue = Epilogue::none, const float* bias = nullptr);
// Additions and multiplications of these, those of idle lanes and padding included.
double transform_tiles_flops(winograd::TileOperand operand, const TileTransform& what);
double invert_tiles_flops(const TileTransform& what);

void multiply_planes(const winograd::GemmArguments& arguments, Queue& queue);

}  // namespace convscope::CONVSCOPE_KERNELS
