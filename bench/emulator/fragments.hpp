// The arithmetic of tensor cores, on copies of the registers: exact products, summed as the hardware sums
// them. A block of products and the sum so far are cut to a common quantum, added exactly, and the result is
// cut to f32, always toward zero. Sources: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA
// tensor cores" (PeerJ CS 7:e330, 2021); block sizes and extra bits of each generation: Khattak and Mikaitis,
// "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004).
#pragma once

#include <bit>
#include <cstdint>

#include "bench/device/kernel/call_site.hpp"

namespace convscope::emulated::executor {

// The quantum is 2^(e - 23 - extra_bits), where e is the largest exponent of the sum so far and of the
// products; a product's exponent is the sum of its operands', which are at least smallest_exponent.
struct TensorCore {
  int products;           // that are added at a time
  int extra_bits;         // below the last bit of f32
  int smallest_exponent;  // of the element type: subnormal elements have it too
};

// mma.sync as sm_80 adds. Later generations add more products at a time with one bit more and err less.
inline constexpr TensorCore kMmaTf32{4, 1, -126}, kMmaBf16{8, 1, -126}, kMmaF16{8, 1, -14};
// wgmma, which only sm_90 has.
inline constexpr TensorCore kWgmmaTf32{8, 2, -126}, kWgmmaBf16{16, 2, -126}, kWgmmaF16{16, 2, -14};

// sums += a b for a of `rows` x depth, b of depth x columns and sums of `rows` x columns, all by rows. Depth
// is a multiple of the products, at most 16; columns are 1, 8, 16, 24, 32 or 48. Elements are those of the
// type, widened.
void multiply_fragments(const TensorCore& core, int rows, int columns, int depth, const float* a,
                        const float* b, float* sums);

// The element in a register of TF32, of which the hardware reads the upper bits.
inline float tf32_element(uint32_t word, int = 0) {
  return std::bit_cast<float>(word & 0xffffe000u);
}

// One lane's part of an mma.sync: a 16 x 8 tile of products, d = a b + c.
struct WarpFragments {
  float d[4];
  uint32_t a[4], b[2];
  float c[4];
};
// Of a whole warp's fragments, by lane, in a type of element: what join_warp() calls.
void multiply_tf32_tile(void* const* fragments, unsigned present, const CallSite& site);
void multiply_bf16_tile(void* const* fragments, unsigned present, const CallSite& site);
void multiply_f16_tile(void* const* fragments, unsigned present, const CallSite& site);

}  // namespace convscope::emulated::executor
