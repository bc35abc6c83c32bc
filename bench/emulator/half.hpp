// The 16-bit floats of kernels as storage with conversions: __half (5 exponent bits) and __nv_bfloat16 (8),
// and pairs of them. Conversions round to nearest even, as the GPU's _rn ones. Not here: arithmetic in 16
// bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace convscope::emulated {

struct __nv_bfloat16 {
  uint16_t bits = 0;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = std::isnan(value) ? uint16_t{0x7fff}
                             : static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

struct __half {
  uint16_t bits = 0;
  __half() = default;
  explicit __half(float value);
  operator float() const;
};

// Scaling puts f32's rounding where half's belongs: adding and subtracting a power of two rounds to the
// spacing of its binade, 2^-24 for subnormals.
inline __half::__half(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(word >> 16 & 0x8000u);
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = 0x7fff;
  } else if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24
    bits =
        static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(value), 24))));
  } else {
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}
inline __half::operator float() const {
  const uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  // Half's exponent and fraction are those of an f32 that is 2^112 times smaller; subnormals too.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t word = magnitude < 0x7c00 ? std::bit_cast<uint32_t>(value) : 0x7f800000u | magnitude << 13;
  return std::bit_cast<float>(word | sign);
}

struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __half __float2half_rn(float x) {
  return __half(x);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return __nv_bfloat16(x);
}

// The first argument is the lower half of the register.
inline __half2 __floats2half2_rn(float x, float y) {
  return {__half(x), __half(y)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}

inline unsigned short __half_as_ushort(__half x) {
  return x.bits;
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
  return x.bits;
}
inline __half __ushort_as_half(unsigned short bits) {
  return std::bit_cast<__half>(uint16_t{bits});
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return std::bit_cast<__nv_bfloat16>(uint16_t{bits});
}

}  // namespace convscope::emulated
