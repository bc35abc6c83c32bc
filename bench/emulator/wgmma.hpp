// Plain C++ twin of bench/device/cuda/wgmma.cuh, where each function is described. A product is computed at
// the wait for its group, each thread its own part; a group without a fence before it is an error. Reached
// through bench/device/kernel/hopper.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "bench/device/kernel/wgmma_descriptor.hpp"
#include "bench/emulator/executor.hpp"
#include "bench/emulator/fragments.hpp"
#include "bench/emulator/half.hpp"
#include "bench/emulator/hopper_intrinsics.hpp"

namespace convscope::emulated {

struct Tf32 {};

enum class Major { k = 0, mn = 1 };

namespace executor {

// A descriptor as the hardware takes it apart; strides are bytes.
struct WgmmaOperand {
  uint32_t start, leading, stride;

  WgmmaOperand(uint64_t descriptor, const CallSite& site)
      : start(field(descriptor, 0)), leading(field(descriptor, 16)), stride(field(descriptor, 32)) {
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0)
      fail("wgmma: the descriptor is none of a 128-byte swizzle without base offset", site);
  }

  // Where the element begins: swizzled by the bits of its address, whatever the tile.
  template <Major M>
  uint32_t offset(int row, int k, uint32_t element_bytes) const {
    const auto r = static_cast<uint32_t>(row), depth = static_cast<uint32_t>(k);
    if constexpr (M == Major::k)
      return swizzle_128(start + r / 8 * stride + r % 8 * 128 + depth * element_bytes);
    else
      return swizzle_128(start + r / 64 * leading + depth / 8 * stride + depth % 8 * 128 +
                         r % 64 * element_bytes);
  }

 private:
  static constexpr uint32_t field(uint64_t descriptor, int bit) {
    return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4;
  }
};

[[noreturn, gnu::cold, gnu::noinline]] inline void fail_outside(uint32_t offset, const CallSite& site) {
  fail("wgmma reads byte " + std::to_string(offset) + " of " +
           std::to_string(current_block->dynamic_smem_bytes) + " bytes of dynamic shared memory",
       site);
}

// The elements of one k step, of one row of an operand.
template <typename Element, Major M, int Depth>
void read_row(const WgmmaOperand& operand, int row, float (&out)[Depth], const CallSite& site) {
  constexpr uint32_t element_bytes = 32 / Depth;
  constexpr int together = M == Major::k ? Depth / 2 : 1;  // neighbours in memory, of 16 bytes
  for (int first = 0; first < Depth; first += together) {
    const uint32_t offset = operand.offset<M>(row, first, element_bytes);
    if (offset + together * element_bytes > current_block->dynamic_smem_bytes) fail_outside(offset, site);
    const unsigned char* from = current_block->dynamic_smem + offset;
    for (int k = 0; k < together; ++k)
      if constexpr (std::is_same_v<Element, Tf32>)
        out[first + k] = tf32_element(reinterpret_cast<const uint32_t*>(from)[k]);
      else
        out[first + k] = reinterpret_cast<const Element*>(from)[k];
  }
}

template <typename Element>
constexpr TensorCore wgmma_core() {
  if (std::is_same_v<Element, Tf32>) return kWgmmaTf32;
  return std::is_same_v<Element, __half> ? kWgmmaF16 : kWgmmaBf16;
}

template <typename Element, int N, Major M>
void multiply_own_part(const WarpgroupProduct& product) {
  constexpr int depth = std::is_same_v<Element, Tf32> ? 8 : 16, columns = N / 4;
  const int thread = static_cast<int>(current_thread->linear % 128);
  const WgmmaOperand of_a(product.a, product.site), of_b(product.b, product.site);
  float a[2][depth], b[depth][columns], line[depth], sums[2][columns];
  for (int half = 0; half < 2; ++half)
    read_row<Element, M>(of_a, thread / 32 * 16 + thread % 32 / 4 + 8 * half, a[half], product.site);
  for (int i = 0; i < columns; ++i) {
    read_row<Element, M>(of_b, i / 2 * 8 + thread % 4 * 2 + i % 2, line, product.site);
    for (int k = 0; k < depth; ++k) b[k][i] = line[k];
    for (int half = 0; half < 2; ++half)
      sums[half][i] = product.accumulate ? product.d[i / 2 * 4 + half * 2 + i % 2] : 0.0f;
  }
  multiply_fragments(wgmma_core<Element>(), 2, columns, depth, &a[0][0], &b[0][0], &sums[0][0]);
  for (int i = 0; i < columns; ++i)
    for (int half = 0; half < 2; ++half) product.d[i / 2 * 4 + half * 2 + i % 2] = sums[half][i];
}

}  // namespace executor

inline uint64_t wgmma_descriptor_mn(const void* shared, int next_rows, CallSite site = CallSite::current()) {
  const uint32_t offset = executor::dynamic_offset(shared);
  if (offset % 1024) executor::fail("wgmma: the operand's address is not a multiple of 1024", site);
  return wgmma_descriptor_bits(offset, next_rows);
}
inline uint64_t wgmma_descriptor(const void* shared, CallSite site = CallSite::current()) {
  return wgmma_descriptor_mn(shared, 16, site);  // K-major: the leading stride is not used
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
template <typename Element, int N, Major M = Major::k>
void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int accumulate, CallSite site = CallSite::current()) {
  static_assert(N == 64 || N == 128 || (M == Major::k && (N == 96 || N == 192)));
  static_assert(M == Major::k || !std::is_same_v<Element, Tf32>);
  static_assert(std::is_same_v<Element, Tf32> || std::is_same_v<Element, __half> ||
                std::is_same_v<Element, __nv_bfloat16>);
  executor::issue_product({executor::multiply_own_part<Element, N, M>, d, a, b, accumulate != 0, site});
}

}  // namespace convscope::emulated
