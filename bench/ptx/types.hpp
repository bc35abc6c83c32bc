// The vocabulary of PTX: integers by their PTX names, types, state spaces, address windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace convscope::ptx {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

inline constexpr int kLanes = 32;

// Windows of the generic address space; addresses below them are global memory, and are host
// addresses.
inline constexpr u64 kSharedWindow = 0x7f00'0000'0000'0000;
inline constexpr u64 kParamWindow = 0x7e00'0000'0000'0000;
inline constexpr u64 kLocalWindow = 0x7d00'0000'0000'0000;
inline constexpr u64 kWindowMask = 0xff00'0000'0000'0000;
// sm_90 reserves the first KiB of shared memory.
inline constexpr u32 kSharedStart = 1024;

// What a GPU would not run as intended, or the parser does not know: where it is, and what.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// GCC 12 warns that enumerators shadow the types above. Not formatted: one per line would be twenty lines.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
// clang-format off
enum class Type : u8 {
  none, pred, b8, u8, s8, b16, u16, s16, f16, bf16, b32, u32, s32, f32, tf32, b64, u64, s64, f64
};
// clang-format on
#pragma GCC diagnostic pop
enum class Space : u8 { generic, global, shared, param, local };

// Of each Type, in their order.
inline constexpr std::string_view kTypeNames[] = {"",     "pred", "b8",   "u8",  "s8",  "b16", "u16",
                                                  "s16",  "f16",  "bf16", "b32", "u32", "s32", "f32",
                                                  "tf32", "b64",  "u64",  "s64", "f64"};
inline constexpr int kTypeBytes[] = {4, 4, 1, 1, 1, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 8, 8, 8, 8};

constexpr int size_of(Type type) {
  return kTypeBytes[static_cast<size_t>(type)];
}

constexpr bool is_float(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64 || t == Type::tf32;
}

constexpr bool is_signed(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}

constexpr u32 rounded_up(u32 value, u32 to) {
  return (value + to - 1) / to * to;
}

}  // namespace convscope::ptx
