// One small kernel for each word of cuda/intrinsics.cuh and its twin, for intrinsics_test.cpp.
#pragma once

#include <cstdint>

#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {

enum class TensorElement { tf32, f16, bf16 };

struct IntrinsicKernels {
  // d (16x8) = a (16xk) b (kx8) + c, row-major, k = 8 for tf32, else 16.
  void (*multiply)(TensorElement, const float* a, const float* b, const float* c, float* d, Queue&);
  // from: four 8x8 matrices of 16 bits; to[register][lane].
  void (*load_matrices)(bool transposed, const uint16_t* from, uint32_t* to, Queue&);
  // 32 threads copy 32 * bytes; of every `bytes` the first `valid` are read.
  void (*copy)(int bytes, int valid, const float* from, float* to, Queue&);
  // Two groups of 4 bytes per thread; waits for the older only and reads both: to[64].
  void (*copy_and_wait_for_one)(const float* from, float* to, Queue&);
  void (*copy_misaligned)(const float* from, float* to, Queue&);
  void (*round_to_tf32)(const float* from, float* to, int n, Queue&);
  // Two halves of 128 threads rotate their own 64 values by 7 places, three times, each with a barrier of its
  // own.
  void (*named_barriers)(float* out, Queue&);
};

CONVSCOPE_IN_BOTH(IntrinsicKernels intrinsic_kernels();)

}  // namespace convscope
