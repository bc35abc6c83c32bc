// What the host code of the tiled transforms tells the kernels: where planes of a tensor lie, where their
// spectra go, and one product of spectra. Plain data and the launching functions, for .cu files; the plan
// that calls them is tiled_plan.cu.
//
// A plane is one tile of one channel. A block works on planes that are neighbours in `lane`, the index in
// which spectra are contiguous, so that every bin is written and read in whole sectors.
#pragma once

#include <cstdint>

#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// What one value of an index adds: elements to the offset, and a shift of the plane's first coordinate.
struct PlaneOrigin {
  int64_t offset;
  int h, w;
};

// Sample i of a plane lies at origin + step * i; it is zero (or not written) at i >= window and outside
// [0, extent).
struct PlaneAxis {
  int64_t stride;  // elements
  int extent, step, window;
};

// A plane is (group, other, lane). Counts are of this launch, tables start at its first index.
struct TiledPlanes {
  const PlaneOrigin *lanes, *others;
  int lane_count, other_count, groups;
  PlaneAxis h, w;
  int64_t group_stride;  // elements of the tensor
  bool lanes_contiguous;
};

// Bin b of a plane is data[group * group_stride + b * bin_stride + other * other_stride + lane]. Strides are
// even.
struct ComplexSpectra {
  float2* data;
  int64_t group_stride, bin_stride, other_stride;
};

// Complex bins of a real size x size tile that are independent of each other. Rows of frequency 0 and size /
// 2 come first, size / 2 + 1 bins each, then the rows between with `size` bins each.
__host__ __device__ constexpr int tile_bins(int size) {
  return size * size / 2 + 2;
}

// Floating-point operations of transforming one plane or of inverting it: complex transforms by codelet.cuh,
// two per thread of the plane, and taking the pairs of real columns apart or putting them together.
constexpr int64_t plane_flops(int size, bool inverse) {
  int64_t complex_transform = 0;
  for (int length = size; length > 1; length /= 2)
    for (int k = 0; k < length / 2; ++k) {
      const int twiddle = k == 0 || 4 * k == length ? 0 : 8 * k == length || 8 * k == 3 * length ? 4 : 6;
      complex_transform += int64_t{4 + twiddle} * (size / length);
    }
  const int64_t half = size / 2, pairs = (half - 1) * half + half + 1;
  return size * complex_transform + pairs * (inverse ? 4 : 8) + (inverse ? int64_t{size} * size : 0);
}
// Planes of a block, which is transformed whole.
constexpr int planes_per_block(int size) {
  return size == 32 ? 8 : 16;
}
// Floating-point operations of so many rows and columns at one step of depth: three multiply-adds for each
// complex number, and the sum or difference of each operand's parts.
constexpr int flops_of_step(int rows, int columns) {
  return 6 * rows * columns + rows + columns;
}

// The complex sums of a block of the product, and of each of its threads.
struct ProductShape {
  int rows, columns, thread_rows, thread_columns;
  constexpr int64_t blocks(int64_t all_rows, int64_t all_columns) const {
    return ceil_div(all_rows, rows) * ceil_div(all_columns, columns);
  }
  // With the unused part of the last blocks.
  constexpr int64_t computed(int64_t all_rows, int64_t all_columns) const {
    return blocks(all_rows, all_columns) * rows * columns;
  }
  // At one step of depth.
  constexpr int64_t flops(int64_t all_rows, int64_t all_columns) const {
    const int threads = rows / thread_rows * (columns / thread_columns);
    return blocks(all_rows, all_columns) * threads * flops_of_step(thread_rows, thread_columns);
  }
  // Likewise, brought to shared memory.
  constexpr int64_t staged_bytes(int64_t all_rows, int64_t all_columns) const {
    return blocks(all_rows, all_columns) * (rows + columns) * static_cast<int64_t>(sizeof(float2));
  }
};
inline constexpr int kProductColumns = 64;  // without TMA
// With TMA that which computes the least, the first of equals: of 48 and 96 channels, which AlexNet's first
// layers have, blocks of 32 and 64 would leave a quarter of their work unused.
constexpr ProductShape product_shape(int64_t rows, int64_t columns, bool by_tma) {
  if (rows <= 16) return {16, kProductColumns, 2, 4};
  if (!by_tma) return {64, kProductColumns, 8, 4};
  ProductShape best{64, 48, 4, 6};
  for (const ProductShape shape : {ProductShape{48, 64, 6, 4}, {32, 64, 4, 4}})
    if (shape.computed(rows, columns) < best.computed(rows, columns)) best = shape;
  return best;
}
// To so many steps of depth a product is padded, and so many come to shared memory at a time.
constexpr int product_steps(bool by_tma) {
  return by_tma ? 1 : 8;
}
constexpr int staged_steps(bool by_tma) {
  return by_tma ? 16 : 8;
}

// size is 16 or 32.
void transform_planes(int size, const float* tensor, const TiledPlanes& planes, const ComplexSpectra& spectra,
                      Queue& queue);
void invert_planes(int size, const ComplexSpectra& spectra, const TiledPlanes& planes, float* tensor,
                   Queue& queue);

// Y[row][column] = sum over depth of A[row][depth] * conj(B[depth][column]) for every bin of every group;
// added to Y with `accumulate`. A is stored [row][depth], with a_by_depth [depth][row]; `other` is the first
// index.
struct SpectralProduct {
  ComplexSpectra a, b, y;
  int rows, columns, depth, bins, groups;
  bool a_by_depth, accumulate;
  bool by_tma;  // on a GPU of sm_90a; by depth, with more than 16 rows
};
void multiply_spectra(const SpectralProduct& product, Queue& queue);

}  // namespace convscope::CONVSCOPE_KERNELS
