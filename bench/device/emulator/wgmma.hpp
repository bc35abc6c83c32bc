// Plain C++ twin of bench/device/cuda/wgmma.cuh, where each word is described. A product is computed at the
// wait for its group, each thread its own part; a group without a fence before it is an error. Reached
// through bench/device/kernel/hopper.hpp.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "bench/device/emulator/executor.hpp"
#include "bench/device/emulator/half.hpp"
#include "bench/device/emulator/hopper_intrinsics.hpp"

namespace convscope::emulated {

struct Tf32 {};

namespace executor {

// The elements of one k step, of one row of the operand that the descriptor names: 32 bytes, two swizzled
// chunks.
template <typename Element, int Depth>
void read_row(uint64_t descriptor, int row, float (&out)[Depth], const CallSite& site) {
  constexpr int per_chunk = Depth / 2;
  const uint32_t start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  const uint32_t group_stride = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  const uint32_t first =
      start + static_cast<uint32_t>(row / 8) * group_stride + static_cast<uint32_t>(row % 8) * 128;
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    const uint32_t offset = swizzle_128(first + 16 * chunk);
    if (offset + 16 > current_block->dynamic_smem_bytes)
      fail("wgmma reads byte " + std::to_string(offset) + " of " +
               std::to_string(current_block->dynamic_smem_bytes) + " of dynamic shared memory",
           site);
    const unsigned char* from = current_block->dynamic_smem + offset;
    for (int k = 0; k < per_chunk; ++k) {
      float& to = out[static_cast<int>(chunk) * per_chunk + k];
      if constexpr (std::is_same_v<Element, Tf32>)
        to = std::bit_cast<float>(reinterpret_cast<const uint32_t*>(from)[k] & 0xffffe000u);
      else
        to = reinterpret_cast<const Element*>(from)[k];
    }
  }
}

template <typename Element, int N>
void multiply_own_part(const WarpgroupProduct& product) {
  constexpr int depth = std::is_same_v<Element, Tf32> ? 8 : 16;
  const int thread = static_cast<int>(current_thread->linear % 128);
  float a[2][depth], b[depth];
  for (int half = 0; half < 2; ++half)
    read_row<Element>(product.a, thread / 32 * 16 + thread % 32 / 4 + 8 * half, a[half], product.site);
  for (int i = 0; i < N / 4; ++i) {
    const int column = i / 2 * 8 + thread % 4 * 2 + i % 2;
    read_row<Element>(product.b, column, b, product.site);
    for (int half = 0; half < 2; ++half) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += a[half][k] * b[k];
      float& d = product.d[i / 2 * 4 + half * 2 + i % 2];
      d = (product.accumulate ? d : 0.0f) + sum;
    }
  }
}

}  // namespace executor

inline uint64_t wgmma_descriptor(const void* shared, CallSite site = CallSite::current()) {
  const uint32_t offset = executor::dynamic_offset(shared);
  if (offset % 1024) executor::fail("wgmma: the operand's address is not a multiple of 1024", site);
  return uint64_t{offset >> 4 & 0x3fff} | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}
inline void wgmma_fence() {
  executor::fence_products();
}
inline void wgmma_commit_group() {
  executor::commit_products();
}
template <int Keep>
void wgmma_wait_group() {
  executor::maybe_overtake();
  for (const executor::WarpgroupProduct& product : executor::finish_products(Keep)) product.run(product);
}
template <typename Element, int N>
void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int accumulate, CallSite site = CallSite::current()) {
  static_assert(N == 64 || N == 128);
  static_assert(std::is_same_v<Element, Tf32> || std::is_same_v<Element, __half> ||
                std::is_same_v<Element, __nv_bfloat16>);
  executor::issue_product({executor::multiply_own_part<Element, N>, d, a, b, accumulate != 0, site});
}

}  // namespace convscope::emulated
