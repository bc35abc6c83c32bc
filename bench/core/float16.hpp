// The 16-bit storage formats, bfloat16 (8 exponent bits) and IEEE binary16 (5), as bit patterns: conversions
// to and from f32, rounding to nearest even as the hardware does. Not here: arithmetic in 16 bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace convscope {

inline uint16_t bf16_bits(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return 0x7fff;
  return static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
}

inline float from_bf16_bits(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

inline uint16_t f16_bits(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above: infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24
    const auto multiple = static_cast<uint32_t>(std::nearbyint(std::ldexp(std::fabs(value), 24)));
    return static_cast<uint16_t>(sign | multiple);
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float from_f16_bits(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
}

}  // namespace convscope
