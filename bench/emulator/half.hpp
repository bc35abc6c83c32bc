// The 16-bit floats of kernels as storage with conversions: __half (5 exponent bits) and __nv_bfloat16 (8).
// Conversions round to nearest even, as the GPU's _rn ones. Not here: arithmetic in 16 bits.
#pragma once

#include <bit>
#include <cstdint>

#include "bench/core/float16.hpp"

namespace convscope::emulated {

struct __nv_bfloat16 {
  uint16_t bits = 0;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float value) : bits(bf16_bits(value)) {}
  operator float() const { return from_bf16_bits(bits); }
};

struct __half {
  uint16_t bits = 0;
  __half() = default;
  explicit __half(float value) : bits(f16_bits(value)) {}
  // Products convert every element: without the branches of from_f16_bits().
  operator float() const {
    const uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    // Half's exponent and fraction are those of an f32 that is 2^112 times smaller; subnormals too.
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const uint32_t word = magnitude < 0x7c00 ? std::bit_cast<uint32_t>(value) : 0x7f800000u | magnitude << 13;
    return std::bit_cast<float>(word | sign);
  }
};

inline __half __float2half_rn(float x) {
  return __half(x);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return __nv_bfloat16(x);
}

inline unsigned short __half_as_ushort(__half x) {
  return x.bits;
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
  return x.bits;
}

}  // namespace convscope::emulated
