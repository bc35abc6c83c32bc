// Shared by the handlers: loops over the lanes of a mask, and how values of a type are stored in registers.
#pragma once

#include <bit>
#include <type_traits>

#include "bench/ptx/machine.hpp"

namespace convscope::ptx {

// Calls f lane by lane: lanes may access the same memory.
template <class F>
inline void each_lane(u32 mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

// Calls f for lanes that are independent of each other: the loop may be vectorised.
template <class F>
inline void for_lanes(u32 mask, F&& f) {
  if (mask != ~u32{0}) return each_lane(mask, f);
#pragma GCC ivdep
  for (int l = 0; l < kLanes; ++l) f(l);
}

// Values of 8 and 16 bits are stored in registers of 32 bits.
template <class T>
using Slot = std::conditional_t<(sizeof(T) < 4), u32, T>;

template <class T>
inline Slot<T> stored(T value) {
  if constexpr (sizeof(T) < 4)
    return static_cast<std::make_unsigned_t<T>>(value);
  else
    return value;
}

// Reads and writes registers of any size; writes to the operand "_" are dropped.
inline u64 raw(const Warp& w, const Operand& o, int l) {
  return o.wide ? w.from<u64>(o)[l] : w.from<u32>(o)[l];
}

inline void put(Warp& w, const Operand& o, int l, u64 value) {
  if (o.index < 0) return;
  if (o.wide)
    w.to<u64>(o)[l] = value;
  else
    w.to<u32>(o)[l] = static_cast<u32>(value);
}

// Sets a predicate in the lanes of a mask.
inline void put_predicate(Warp& w, const Operand& o, u32 mask, u32 bits) {
  u32& d = w.registers[o.index];
  d = (d & ~mask) | (bits & mask);
}

// The lanes continue at `pc` when they are selected again.
inline void set_pc(Warp& w, u32 lanes, s32 pc) {
  each_lane(lanes, [&](int l) { w.lane_pc[static_cast<size_t>(l)] = pc; });
}

}  // namespace convscope::ptx
