// Kernels for hopper_test.cpp and pixel_load_test.cpp: TMA loads as they land, a small product on wgmma, and
// ways to misuse both.
#pragma once

#include <cstddef>

#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"
#include "bench/device/kernel/tensor_map_layout.hpp"
#include "bench/emulator/test_kernels/intrinsics.hpp"

namespace convscope {

enum class HopperFault {
  none,
  no_barrier_fence,
  no_barrier_init,
  one_arrival_too_many,
  too_few_bytes_expected,
  no_product_fence,
  no_product_wait,
  no_product_commit,
  no_swizzle,  // in the descriptor, as the box has
  misaligned_box,
};

// Of shared memory before a load that is handed out.
inline constexpr uint16_t kUntouched = 0x7e7e;

struct HopperKernels {
  // The box at `position`, byte by byte as it lies in shared memory; bytes is a multiple of 4.
  void (*load_box)(const TensorMapLayout&, const int (&position)[5], void* to, size_t bytes, Queue&);
  // The run of pixels from `position` (channel, x, y, image) on at the tap with that offset, with what lies
  // between its lines.
  void (*load_pixels)(const PixelMapLayout&, const int (&position)[4], const int (&offset)[2], void* to,
                      size_t bytes, Queue&);
  // The same loads, each with the map of the other: for the emulator only.
  void (*load_with_the_other_map)(const TensorMapLayout&, const PixelMapLayout&, bool pixels, void* to,
                                  size_t bytes, Queue&);
  // c (m x n) = a (m x k) b (n x k)^T: TMA into a ring of stages, one producer warp, one warpgroup with wgmma
  // of 64 x `columns` (64, 96, 128 or 192). a and b hold the element type; a row is a multiple of 16 bytes.
  void (*multiply)(TensorElement, int columns, HopperFault, const void* a, const void* b, float* c, int m,
                   int n, int k, Queue&);
  // c (m x n) = a^T b of a (k x m) and b (k x n), of f16 or bf16: both operands MN-major. m and n are
  // multiples of 8.
  void (*multiply_transposed)(TensorElement, int columns, const void* a, const void* b, float* c, int m,
                              int n, int k, Queue&);
};

CONVSCOPE_IN_BOTH(HopperKernels hopper_kernels();)

}  // namespace convscope
