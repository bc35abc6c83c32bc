// PTX of sm_80 behind small functions: tensor-core products, ldmatrix, asynchronous copies to shared memory.
// sm_75 gets what it can of the same. The plain C++ twins, with the same names, are in
// bench/emulator/intrinsics.hpp. Reached through bench/device/kernel/kernel.hpp.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace convscope::cuda {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// D (16x8, f32) = A (16x8, tf32, by rows) B (8x8, tf32, by columns) + C. sm_80. With g = lane / 4 and t =
// lane % 4: a = {A[g][t], A[g+8][t], A[g][t+4], A[g+8][t+4]}, b = {B[t][g], B[t+4][g]}, d = {D[g][2t],
// D[g][2t+1], D[g+8][2t], D[g+8][2t+1]}.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4],
                                                 const uint32_t (&b)[2], const float (&c)[4]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
#else
  __trap();
#endif
}

// D (16x8, f32) = A (16x16, by rows) B (16x8, by columns) + C for __half or __nv_bfloat16; two elements a
// register, the lower index in the lower half. a = {A[g][2t..], A[g+8][2t..], A[g][2t+8..], A[g+8][2t+8..]},
// b = {B[2t..][g], B[2t+8..][g]}; d as above. sm_80; __half also on sm_75, in two steps.
template <typename Element>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                             const float (&c)[4]) {
  constexpr bool bf16 = std::is_same_v<Element, __nv_bfloat16>;
  static_assert(bf16 || std::is_same_v<Element, __half>);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  if constexpr (bf16)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
          "f"(c[3]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
          "f"(c[3]));
#else
  if constexpr (bf16) {
    __trap();
  } else {
    for (int half = 0; half < 2; ++half)
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
          : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
          : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]), "f"(half ? d[0] : c[0]),
            "f"(half ? d[1] : c[1]), "f"(half ? d[2] : c[2]), "f"(half ? d[3] : c[3]));
  }
#endif
}

// x rounded to tf32, to nearest, ties away from zero; the bits of a float whose low 13 bits are 0.
__device__ __forceinline__ uint32_t to_tf32(float x) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
#else
  return (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
#endif
}

// Four 8x8 matrices of 16-bit elements from shared memory. Lane l gives the address of row l % 8 of matrix l
// / 8 (16 bytes, aligned to 16); register i gets elements 2t and 2t+1 of row g of matrix i, with Transposed
// of column g.
template <bool Transposed = false>
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const void* row) {
  const uint32_t address = shared_address(row);
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// Copies Bytes (4, 8 or 16) from global to shared memory, both aligned to Bytes, some time before the wait
// for its group. Reads only the first `valid` bytes and writes zeros for the rest. 16 bytes bypass L1. sm_75:
// a plain copy.
template <int Bytes>
__device__ __forceinline__ void cp_async(void* shared, const void* global, int valid = Bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  const uint32_t address = shared_address(shared);
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(global), "n"(Bytes),
                 "r"(valid)
                 : "memory");
#else
  using Word = std::conditional_t<Bytes == 16, uint4, std::conditional_t<Bytes == 8, uint2, uint32_t> >;
  if (valid == Bytes)
    *static_cast<Word*>(shared) = *static_cast<const Word*>(global);
  else
    for (int i = 0; i < Bytes; ++i)
      static_cast<char*>(shared)[i] = i < valid ? static_cast<const char*>(global)[i] : char(0);
#endif
}

// Closes this thread's group of copies. Every thread closes the same number of groups, empty ones included.
__device__ __forceinline__ void cp_async_commit_group() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all but the newest Keep groups of this thread have arrived. Other threads see them after a
// barrier.
template <int Keep>
__device__ __forceinline__ void cp_async_wait_group() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Keep) : "memory");
#endif
}

// A barrier for `threads` threads of the block (a multiple of 32), with its own counter: id 1 to 15;
// __syncthreads is 0. Whoever calls it takes part, from whatever line.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace convscope::cuda
