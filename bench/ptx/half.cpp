#include "bench/ptx/half.hpp"

#include <bit>
#include <cmath>
#include <vector>

namespace convscope::ptx {
namespace {

float half_value(u16 bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31)
    return bits & 1023 ? std::bit_cast<float>(0x7fc00000u | u32{bits & 1023u} << 13) : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0f + fraction, exponent - 25);
}

}  // namespace

float half_to_float(u16 bits) {
  static const std::vector<float> table = [] {
    std::vector<float> values(1 << 16);
    for (u32 n = 0; n < values.size(); ++n) values[n] = half_value(static_cast<u16>(n));
    return values;
  }();
  return table[bits];
}

u16 float_to_half(double value) {
  if (value != value) return 0x7fff;
  const u16 sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  double steps = std::nearbyint(std::ldexp(magnitude, 10 - exponent));  // ties to even
  if (steps >= 2048) steps /= 2, ++exponent;
  const u32 n = static_cast<u32>(steps);
  return n < 1024 ? u16(sign | n) : u16(sign | (u32(exponent + 15) << 10) | (n - 1024));
}

u16 float_to_bfloat(double value) {
  if (value != value) return 0x7fff;
  // The value is one of a float: the cast is exact.
  const u32 bits = std::bit_cast<u32>(static_cast<float>(value));
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

u32 float_to_tf32(float value) {
  if (value != value) return 0x7fffffff;
  u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7f800000) != 0x7f800000) bits += 0x1000;
  return bits & 0xffffe000;
}

u32 float_to_nearest_tf32(float value) {
  u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7f800000) == 0x7f800000) return bits & 0xffffe000;
  bits += 0xfff + (bits >> 13 & 1);
  return bits & 0xffffe000;
}

}  // namespace convscope::ptx
