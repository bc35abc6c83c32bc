// Plain C++ twins of bench/device/cuda/intrinsics.cuh, where each function is described: tensor-core
// products, ldmatrix, asynchronous copies, named barriers. Copies land as late as they may, so that a missing
// wait shows. Reached through bench/device/kernel/kernel.hpp.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "bench/emulator/executor.hpp"
#include "bench/emulator/fragments.hpp"
#include "bench/emulator/half.hpp"
#include "bench/emulator/warp_collectives.hpp"

namespace convscope::emulated {
namespace executor {

CONVSCOPE_UNWATCHED inline void warp_product(Combine multiply, float (&d)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2], const float (&c)[4],
                                             const char* operation, const CallSite& site) {
  WarpFragments mine{{}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {c[0], c[1], c[2], c[3]}};
  join_warp(~0u, &mine, multiply, false, operation, site);
  for (int i = 0; i < 4; ++i) d[i] = mine.d[i];
}

inline bool is_aligned(const void* pointer, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

}  // namespace executor

inline void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                             const float (&c)[4], CallSite site = CallSite::current()) {
  executor::warp_product(executor::multiply_tf32_tile, d, a, b, c, "mma.m16n8k8.tf32", site);
}

template <typename Element>
void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4],
                  CallSite site = CallSite::current()) {
  constexpr bool bf16 = std::is_same_v<Element, __nv_bfloat16>;
  static_assert(bf16 || std::is_same_v<Element, __half>);
  executor::warp_product(bf16 ? executor::multiply_bf16_tile : executor::multiply_f16_tile, d, a, b, c,
                         "mma.m16n8k16", site);
}

inline uint32_t to_tf32(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;  // NaN, also without its low bits
  return (bits + 0x1000u) & 0xffffe000u;
}

template <bool Transposed = false>
void ldmatrix_x4(uint32_t (&r)[4], const void* row, CallSite site = CallSite::current()) {
  if (!executor::is_aligned(row, 16))
    executor::fail("ldmatrix: the row's address is not a multiple of 16", site);
  const uint16_t* rows[32];
  executor::gather(static_cast<const uint16_t*>(row), rows, "ldmatrix", site);
  const int g = static_cast<int>(executor::current_thread->lane) / 4;
  const int t = static_cast<int>(executor::current_thread->lane) % 4;
  for (int i = 0; i < 4; ++i) {
    const uint16_t* const* matrix = rows + 8 * i;
    const uint32_t low = Transposed ? matrix[2 * t][g] : matrix[g][2 * t];
    const uint32_t high = Transposed ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
    r[i] = low | high << 16;
  }
}

template <int Bytes>
void cp_async(void* shared, const void* global, int valid = Bytes, CallSite site = CallSite::current()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  if (!executor::is_aligned(shared, Bytes) || !executor::is_aligned(global, Bytes))
    executor::fail("cp.async: an address is not a multiple of " + std::to_string(Bytes), site);
  if (valid < 0 || valid > Bytes) executor::fail("cp.async: valid is " + std::to_string(valid), site);
  executor::issue_copy({static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global),
                        static_cast<unsigned>(Bytes), static_cast<unsigned>(valid)});
  std::memset(shared, 0xff, Bytes);  // who reads before the wait gets NaN
}

inline void cp_async_commit_group() {
  executor::commit_copies();
}

template <int Keep>
void cp_async_wait_group() {
  for (const executor::Copy& copy : executor::finish_copies(Keep))
    for (unsigned byte = 0; byte < copy.bytes; ++byte)
      copy.to[byte] = byte < copy.valid ? copy.from[byte] : static_cast<unsigned char>(0);
}

inline void named_barrier_sync(int id, int threads, CallSite site = CallSite::current()) {
  if (id < 1 || id > 15 || threads < 32 || threads % 32)
    executor::fail("named barrier " + std::to_string(id) + " for " + std::to_string(threads) + " threads",
                   site);
  executor::block_barrier(id, static_cast<unsigned>(threads), "named barrier", site);
}

}  // namespace convscope::emulated
