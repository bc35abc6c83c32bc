// CUDA's built-in device functions for kernels that run on the executor: barriers, warp collectives, atomics,
// cached loads and stores, small arithmetic. As CUDA names them; what is missing here has not been needed
// yet.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "bench/emulator/executor.hpp"
#include "bench/emulator/warp_collectives.hpp"

namespace convscope::emulated {

inline void __syncthreads(CallSite site = CallSite::current()) {
  executor::block_barrier(0, 0, "__syncthreads", site);
}
inline void __syncwarp(unsigned mask = ~0u, CallSite site = CallSite::current()) {
  executor::join_warp(mask, nullptr, nullptr, true, "__syncwarp", site);
}
inline void __nanosleep(unsigned, CallSite site = CallSite::current()) {
  executor::spin("__nanosleep", site);
}
[[noreturn]] inline void __trap(CallSite site = CallSite::current()) {
  executor::fail("__trap()", site);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, CallSite site = CallSite::current()) {
  const int lane = static_cast<int>(executor::current_thread->lane);
  return executor::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)), "__shfl_sync", site);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, CallSite site = CallSite::current()) {
  const int lane = static_cast<int>(executor::current_thread->lane), source = lane ^ lanes;
  return executor::shuffle(mask, value, source < (lane & ~(width - 1)) + width ? source : lane,
                           "__shfl_xor_sync", site);
}
inline unsigned __ballot_sync(unsigned mask, int value, CallSite site = CallSite::current()) {
  return executor::ballot(mask, value != 0, "__ballot_sync", site);
}

template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T __ldcg(const T* address) {
  return *address;
}

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}

template <typename T, typename U>
constexpr std::common_type_t<T, U> min(T a, U b) {
  return b < a ? b : a;
}
template <typename T, typename U>
constexpr std::common_type_t<T, U> max(T a, U b) {
  return a < b ? b : a;
}
// By the processor's own instruction, where it has it: to code compiled for every x86 the library's is a
// call, and half of the time of a product.
#if defined(__x86_64__)
inline const bool kHasFma = __builtin_cpu_supports("fma") != 0;
#endif
inline __attribute__((always_inline)) float fmaf(float a, float b, float sum) {
#if defined(__x86_64__)
  if (kHasFma) [[likely]] {
    asm("vfmadd231ss %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
  }
#endif
  return std::fma(a, b, sum);
}
// A GPU's are approximations, of 22 bits or more; of the exponential of small x, relative to 1 + |x|.
inline float rsqrtf(float x) {
  return static_cast<float>(1 / std::sqrt(double{x}));
}
inline float __expf(float x) {
  return static_cast<float>(std::exp(double{x}));
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}

}  // namespace convscope::emulated
