// The one header that a .cu file includes for CUDA's syntax and device functions. nvcc gets the GPU's, g++
// the emulator's, under the same names, so one source serves both:
//
//   namespace convscope::CONVSCOPE_KERNELS {
//   namespace { __global__ void scale(float* x, int n) { ... } }
//   void run(float* x, int n, Queue& queue) { launch(scale, (n + 255) / 256, 256, 0, queue, x, n); }
//   }
//
// CONVSCOPE_KERNELS is `cuda` or `emulated`. launch(kernel, grid, block, dynamic shared bytes, queue,
// args...) throws DeviceError. dynamic_smem<T>() is the dynamic shared memory; UNROLL stands for `#pragma
// unroll`. Tensor cores and asynchronous copies are in both intrinsics files; those of Hopper in
// kernel/hopper.hpp.
#pragma once

#include "bench/device/device.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/kernel/call_site.hpp"

#if defined(__CUDACC__)
#define CONVSCOPE_KERNELS cuda
#define UNROLL _Pragma("unroll")
#include "bench/device/cuda/cuda_syntax.hpp"
#include "bench/device/cuda/intrinsics.cuh"
#else
#define CONVSCOPE_KERNELS emulated
#define UNROLL _Pragma("GCC unroll 16")
#include "bench/emulator/cuda_syntax.hpp"
#include "bench/emulator/intrinsics.hpp"
#endif
