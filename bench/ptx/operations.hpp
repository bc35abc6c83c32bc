// The operations of arithmetic instructions on single values, as the PTX ISA defines them. Operations
// on bits take integers only.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "bench/ptx/types.hpp"

namespace convscope::ptx::op {

// Integers wrap around: they are computed as unsigned ones of at least 32 bits.
template <class T>
auto wrapping(T a) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::conditional_t<(sizeof(T) < 4), u32, std::make_unsigned_t<T>>>(a);
  else
    return a;
}

inline constexpr auto add = []<class T>(T a, T b) { return T(wrapping(a) + wrapping(b)); };
inline constexpr auto sub = []<class T>(T a, T b) { return T(wrapping(a) - wrapping(b)); };
inline constexpr auto mul = []<class T>(T a, T b) { return T(wrapping(a) * wrapping(b)); };
inline constexpr auto mad = []<class T>(T a, T b, T c) { return T(wrapping(a) * wrapping(b) + wrapping(c)); };
inline constexpr auto fma = []<class T>(T a, T b, T c) { return std::fma(a, b, c); };
inline constexpr auto neg = []<class T>(T a) { return T(-wrapping(a)); };
inline constexpr auto mov = []<class T>(T a) { return a; };
inline constexpr auto bit_and = []<std::integral T>(T a, T b) { return T(a & b); };
inline constexpr auto bit_or = []<std::integral T>(T a, T b) { return T(a | b); };
inline constexpr auto bit_xor = []<std::integral T>(T a, T b) { return T(a ^ b); };
inline constexpr auto bit_not = []<std::integral T>(T a) { return T(~a); };

// Products in twice the width of T: the upper half, the whole product, and the product plus c.
template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                       std::conditional_t<std::is_signed_v<T>, s64, u64>>;
inline constexpr auto mul_hi = []<std::integral T>(T a, T b) {
  return T(Wide<T>(a) * Wide<T>(b) >> (8 * sizeof(T)));
};
inline constexpr auto mul_wide = []<class T>(T a, T b) { return Wide<T>(a) * Wide<T>(b); };
inline constexpr auto mad_wide = []<class T>(T a, T b, Wide<T> c) { return add(mul_wide(a, b), c); };

// Division by zero gives all bits set, as on a GPU.
inline constexpr auto div = []<class T>(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return T(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return neg(a);
  }
  return T(a / b);
};
// 1 / sqrt(x), rounded; a GPU's approximation has a relative error of 2^-22.9 at most.
inline constexpr auto rsqrt = []<std::floating_point T>(T a) { return T(1 / std::sqrt(double{a})); };
// 2^x, rounded, which a GPU approximates.
inline constexpr auto ex2 = []<std::floating_point T>(T a) { return T(std::exp2(double{a})); };
inline constexpr auto rcp = []<std::floating_point T>(T a) { return 1 / a; };
inline constexpr auto rem = []<std::integral T>(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return T(0);
  return T(a % b);
};
inline constexpr auto min = []<class T>(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(a, b);
  else
    return std::min(a, b);
};
inline constexpr auto max = []<class T>(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(a, b);
  else
    return std::max(a, b);
};
inline constexpr auto abs = []<class T>(T a) {
  if constexpr (std::is_integral_v<T>)
    return a < 0 ? neg(a) : a;
  else
    return std::fabs(a);
};

// The shift distance is clamped to the width.
inline constexpr auto shl = []<std::integral T>(T a, u32 b) { return b >= 8 * sizeof(T) ? T(0) : T(a << b); };
inline constexpr auto shr = []<std::integral T>(T a, u32 b) {
  constexpr u32 kBits = 8 * sizeof(T);
  if constexpr (std::is_unsigned_v<T>)
    if (b >= kBits) return T(0);
  return T(a >> std::min(b, kBits - 1));
};

// Each bit is bit n of the table, where n is made of the bits of a, b and c.
inline constexpr auto lop3 = [](u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 n = 0; n < 8; ++n)
    if (table >> n & 1) result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  return result;
};
// Each byte is the byte of b:a that 4 bits of the selector name, or, by the uppermost bit, 8 copies of its
// sign.
inline constexpr auto prmt = [](u32 a, u32 b, u32 selector) {
  const u64 both = a | u64{b} << 32;
  u32 result = 0;
  for (u32 n = 0; n < 4; ++n) {
    const u32 s = selector >> (4 * n) & 0xf;
    u32 byte = both >> (8 * (s & 7)) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * n);
  }
  return result;
};

// Comparisons: with NaN only the unordered ones hold.
inline constexpr auto unordered = []<class T>(T a, T b) { return a != a || b != b; };
inline constexpr auto ordered = []<class T>(T a, T b) { return !unordered(a, b); };
inline constexpr auto equal = []<class T>(T a, T b) { return a == b; };
inline constexpr auto not_equal = []<class T>(T a, T b) { return ordered(a, b) && a != b; };
inline constexpr auto less = []<class T>(T a, T b) { return a < b; };
inline constexpr auto less_or_equal = []<class T>(T a, T b) { return a <= b; };
inline constexpr auto greater = []<class T>(T a, T b) { return a > b; };
inline constexpr auto greater_or_equal = []<class T>(T a, T b) { return a >= b; };
template <auto Compare>
inline constexpr auto or_unordered = []<class T>(T a, T b) { return unordered(a, b) || Compare(a, b); };

}  // namespace convscope::ptx::op
