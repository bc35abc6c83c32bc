// cvt: between integers and floating-point numbers of all sizes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "bench/ptx/half.hpp"
#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

enum Rounding : u8 { kNearest, kZero, kDown, kUp, kAway, kIntNearest, kIntZero, kIntDown, kIntUp };

u64 low_bits(u64 value, int bits) {
  return bits == 64 ? value : value & ((u64{1} << bits) - 1);
}

double float_value(Type t, u64 bits) {
  switch (t) {
    case Type::f16:
      return half_to_float(static_cast<u16>(bits));
    case Type::bf16:
      return bfloat_to_float(static_cast<u16>(bits));
    case Type::f64:
      return std::bit_cast<double>(bits);
    default:
      return std::bit_cast<float>(static_cast<u32>(bits));
  }
}

double to_integral(double v, u8 rounding) {
  switch (rounding) {
    case kIntZero:
      return std::trunc(v);
    case kIntDown:
      return std::floor(v);
    case kIntUp:
      return std::ceil(v);
    default:
      return std::nearbyint(v);
  }
}

float to_float(double v, u8 rounding) {
  const float f = static_cast<float>(v);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (rounding == kZero && std::fabs(f) > std::fabs(v)) return std::nextafterf(f, 0.0f);
  if (rounding == kDown && f > v) return std::nextafterf(f, -kInfinity);
  if (rounding == kUp && f < v) return std::nextafterf(f, kInfinity);
  return f;
}

u64 bits_of(Type t, double v, u8 rounding) {
  switch (t) {
    case Type::f16:
      return float_to_half(v);
    case Type::bf16:
      return float_to_bfloat(v);
    case Type::tf32:
      return float_to_tf32(static_cast<float>(v));
    case Type::f64:
      return std::bit_cast<u64>(v);
    default:
      return std::bit_cast<u32>(to_float(v, rounding));
  }
}

// Clamped to the range of the type; NaN becomes 0.
u64 float_to_integer(Type t, double v, u8 rounding) {
  const int bits = 8 * size_of(t);
  v = to_integral(v, rounding);
  const double low = is_signed(t) ? -std::ldexp(1.0, bits - 1) : 0;
  const double high = std::ldexp(1.0, is_signed(t) ? bits - 1 : bits);
  u64 result = v < 0 && v > low ? static_cast<u64>(static_cast<s64>(v)) : 0;
  if (v <= low && is_signed(t)) result = u64{1} << (bits - 1);
  if (v >= high) result = is_signed(t) ? (u64{1} << (bits - 1)) - 1 : ~u64{0};
  if (v >= 0 && v < high) result = static_cast<u64>(v);
  return low_bits(result, bits);
}

// The integer v, clamped to the range of the type.
u64 saturated(Type t, u64 v, bool negative) {
  const int bits = 8 * size_of(t);
  if (!is_signed(t)) return negative ? 0 : std::min(v, low_bits(~u64{0}, bits));
  const s64 high = bits == 64 ? std::numeric_limits<s64>::max() : (s64{1} << (bits - 1)) - 1;
  if (!negative && v > static_cast<u64>(high)) return static_cast<u64>(high);
  return static_cast<u64>(std::max(static_cast<s64>(v), -high - 1));
}

u64 from_integer(const Instruction& i, u64 bits) {
  const int from_bits = 8 * size_of(i.from), to_bits = 8 * size_of(i.type);
  u64 v = low_bits(bits, from_bits);
  if (is_signed(i.from) && from_bits < 64 && v >> (from_bits - 1) & 1) v |= ~u64{0} << from_bits;
  const bool negative = is_signed(i.from) && static_cast<s64>(v) < 0;
  if (i.type == Type::f32)
    return std::bit_cast<u32>(negative ? static_cast<float>(static_cast<s64>(v)) : static_cast<float>(v));
  if (is_float(i.type))
    return bits_of(i.type, negative ? static_cast<double>(static_cast<s64>(v)) : static_cast<double>(v),
                   kNearest);
  if (i.detail2) v = saturated(i.type, v, negative);
  u64 result = low_bits(v, to_bits);
  if (is_signed(i.type) && to_bits < 32 && result >> (to_bits - 1) & 1) result |= 0xffffffffu << to_bits;
  return result;
}

void cvt(Warp& w, const Instruction& i, u32 mask) {  // detail: rounding, detail2: saturates
  for_lanes(mask, [&](int l) {
    const u64 bits = raw(w, i.o[1], l);
    u64 result = 0;
    if (!is_float(i.from)) {
      result = from_integer(i, bits);
    } else if (!is_float(i.type)) {
      result = float_to_integer(i.type, float_value(i.from, bits), i.detail);
    } else {
      double v = float_value(i.from, bits);
      if (i.detail >= kIntNearest) v = to_integral(v, i.detail);
      if (i.detail2) v = v != v ? 0 : std::clamp(v, 0.0, 1.0);
      result = bits_of(i.type, v, i.detail);
    }
    put(w, i.o[0], l, result);
  });
}

template <class From, class To>
void cvt_plain(Warp& w, const Instruction& i, u32 mask) {
  if (i.o[1].wide != (sizeof(From) == 8)) return cvt(w, i, mask);
  To* d = w.to<To>(i.o[0]);
  const From* a = w.from<From>(i.o[1]);
  for_lanes(mask, [=](int l) { d[l] = static_cast<To>(a[l]); });
}

}  // namespace

Handler conversion_handler(Instruction& i, const Mnemonic& m) {
  if (m.operation() != "cvt" || m.parts.size() < 3) return nullptr;
  i.from = type_named(m.parts.back());
  i.type = type_named(m.parts[m.parts.size() - 2]);
  static const std::map<std::string_view, u8> roundings = {
      {"rn", kNearest},     {"rz", kZero},     {"rm", kDown},     {"rp", kUp},    {"rna", kAway},
      {"rni", kIntNearest}, {"rzi", kIntZero}, {"rmi", kIntDown}, {"rpi", kIntUp}};
  for (size_t n = 1; n + 2 < m.parts.size(); ++n) {
    if (const auto r = roundings.find(m.parts[n]); r != roundings.end())
      i.detail = r->second;
    else if (m.parts[n] == "sat")
      i.detail2 = 1;
    else
      return nullptr;
  }
  // Modes that would be rounded to nearest, or twice.
  if (i.type == Type::tf32 && i.detail != kAway) return nullptr;
  const bool directed = i.detail == kZero || i.detail == kDown || i.detail == kUp;
  if (directed && (i.type != Type::f32 || !is_float(i.from))) return nullptr;
  if (i.type == Type::bf16 && (i.from == Type::f64 || !is_float(i.from))) return nullptr;
  if (i.type == Type::none || i.from == Type::none || i.type == Type::pred) return nullptr;
  if (m.parts.size() == 3) {
    if (i.type == Type::s64 && i.from == Type::s32) return cvt_plain<s32, s64>;
    if (i.type == Type::u64 && i.from == Type::u32) return cvt_plain<u32, u64>;
    if (i.type == Type::u32 && i.from == Type::u64) return cvt_plain<u64, u32>;
  }
  return cvt;
}

}  // namespace convscope::ptx
