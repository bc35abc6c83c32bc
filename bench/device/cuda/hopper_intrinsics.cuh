// PTX of sm_90a behind small functions: mbarriers and TMA loads. Other architectures compile
// them to a trap. wgmma is in wgmma.cuh; the plain C++ twins in bench/emulator/hopper_intrinsics.hpp.
// Reached through bench/device/kernel/hopper.hpp, which shows the usual kernel.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "bench/device/cuda/intrinsics.cuh"
#include "bench/device/kernel/tensor_map_layout.hpp"

namespace convscope::cuda {

// CONVSCOPE_SM90A: an instruction without results, and the operands that it reads.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool kHopperInstructions = true;
#define CONVSCOPE_SM90A(instruction, ...) asm volatile(instruction ::__VA_ARGS__ : "memory")
#else
inline constexpr bool kHopperInstructions = false;
#define CONVSCOPE_SM90A(instruction, ...) __trap()
#endif

// A kernel takes it as `const __grid_constant__ TensorMap map`.
using TensorMap = CUtensorMap;

// Throws DeviceError when the driver refuses the layout.
TensorMap make_tensor_map(const TensorMapLayout& layout);
TensorMap make_pixel_map(const PixelMapLayout& layout);

// True in one lane of a warp, all of whose lanes call it. What only one lane runs is chosen by it, not by
// threadIdx: ptxas then knows that it is one, and issues each TMA load once instead of looping over lanes.
__device__ __forceinline__ bool elect_lane() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  uint32_t elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
#else
  __trap();
  return false;
#endif
}

// Sets up a barrier in shared memory that a phase completes with `arrivals` arrivals. One thread does it,
// then mbarrier_fence_init(), then a block barrier.
__device__ __forceinline__ void mbarrier_init(uint64_t* barrier, int arrivals) {
  CONVSCOPE_SM90A("mbarrier.init.shared::cta.b64 [%0], %1;", "r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void mbarrier_fence_init() {
  CONVSCOPE_SM90A("fence.mbarrier_init.release.cluster;");
}

__device__ __forceinline__ void mbarrier_arrive(uint64_t* barrier) {
  CONVSCOPE_SM90A("mbarrier.arrive.shared::cta.b64 _, [%0];", "r"(shared_address(barrier)));
}

// Arrives and says how many bytes of TMA loads the phase must still receive.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, int bytes) {
  CONVSCOPE_SM90A("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;", "r"(shared_address(barrier)),
                  "r"(bytes));
}

// Waits until the phase of that parity (0 for the first) is complete.
__device__ __forceinline__ void mbarrier_wait(uint64_t* barrier, int parity) {
  CONVSCOPE_SM90A(
      "{\n.reg .pred done;\nWAIT_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT_%=;\n}",
      "r"(shared_address(barrier)), "r"(parity));
}

// Copies the box at (x, y) into shared memory (aligned to 128 bytes, to 1024 with swizzle); elements outside
// the tensor become zero. The barrier receives the bytes of the whole box. x is a multiple of 16 bytes, also
// outside the tensor: any other is an illegal instruction (seen on an H100).
__device__ __forceinline__ void tma_load_2d(void* shared, const TensorMap* map, uint64_t* barrier, int x,
                                            int y) {
  CONVSCOPE_SM90A(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4}], [%2];",
      "r"(shared_address(shared)), "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y));
}

// The same for four dimensions: in an NHWC tensor x is the channel, y the column, z the row, w the image.
__device__ __forceinline__ void tma_load_4d(void* shared, const TensorMap* map, uint64_t* barrier, int x,
                                            int y, int z, int w) {
  CONVSCOPE_SM90A(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];",
      "r"(shared_address(shared)), "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w));
}

// The same for five dimensions, as in an NHWC tensor whose channels are in groups.
__device__ __forceinline__ void tma_load_5d(void* shared, const TensorMap* map, uint64_t* barrier, int x,
                                            int y, int z, int w, int v) {
  CONVSCOPE_SM90A(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];",
      "r"(shared_address(shared)), "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w),
      "r"(v));
}

// Copies a run of pixels (PixelMapLayout; the map is of make_pixel_map()) that begins at pixel (x, y) of the
// box of `image`, channels from `channel` on, each from where the offset leads. What is outside the
// tensor, images after the last too, becomes zero. The barrier receives the bytes of all lines. `channel` is
// a multiple of 16 bytes and (x, y) lies in the box, or the load is an illegal instruction; offsets are 0 to
// 255, others count modulo 256 (all seen on an H100).
__device__ __forceinline__ void tma_load_pixels(void* shared, const TensorMap* map, uint64_t* barrier,
                                                int channel, int x, int y, int image, uint16_t offset_x,
                                                uint16_t offset_y) {
  CONVSCOPE_SM90A(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};",
      "r"(shared_address(shared)), "l"(map), "r"(shared_address(barrier)), "r"(channel), "r"(x), "r"(y),
      "r"(image), "h"(offset_x), "h"(offset_y));
}

// Makes this thread's ordinary writes to shared memory visible to wgmma and TMA; a barrier must follow.
__device__ __forceinline__ void fence_proxy_async() {
  CONVSCOPE_SM90A("fence.proxy.async.shared::cta;");
}

}  // namespace convscope::cuda
