// Loads, stores and atomics of all state spaces, and conversions of their addresses.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/operations.hpp"

namespace convscope::ptx {
namespace {

u8* param_at(Warp& w, const Instruction& i, int l, u64 address, u32 bytes) {
  const u64 offset = address & ~kWindowMask;
  if (offset + bytes > w.block->launch->parameters.size())
    w.block->fault(w, i, l, "reads beyond the parameters, at " + std::to_string(offset));
  if (offset % bytes != 0) w.block->misaligned(w, i, l, address, bytes, "reads a parameter");
  return const_cast<u8*>(w.block->launch->parameters.data()) + offset;
}

u8* local_at(Warp& w, const Instruction& i, int l, u64 address, u32 bytes) {
  const u64 offset = address & ~kWindowMask;
  const u64 each = w.block->kernel->local_bytes;
  if (offset + bytes > each) w.block->fault(w, i, l, "goes beyond local memory");
  if (offset % bytes != 0) w.block->misaligned(w, i, l, address, bytes, "goes to local memory");
  return w.local.data() + each * static_cast<u64>(l) + offset;
}

// Host address of lane l's access at the operand's address, by the instruction's state space or, for a
// generic address, by its window. Throws Fault for an invalid access.
u8* host_address(Warp& w, const Instruction& i, int l, const Operand& at, u32 bytes, bool write) {
  const u64 address = w.address(at, l) + static_cast<u64>(i.offset);
  const u64 window = i.space == Space::generic ? address & kWindowMask : 0;
  if (i.space == Space::shared || window == kSharedWindow)
    return w.block->shared_at(w, i, l, address - window, bytes, write);
  if (i.space == Space::param || window == kParamWindow) return param_at(w, i, l, address, bytes);
  if (i.space == Space::local || window == kLocalWindow) return local_at(w, i, l, address, bytes);
  return w.block->global(w, i, l, address, bytes, write ? "writes" : "reads");
}

// Loads the same parameter in all lanes.
template <class T>
void load_parameter(Warp& w, const Instruction& i, u32 mask) {
  T value;
  std::memcpy(&value, param_at(w, i, 0, w.address(i.o[1], 0) + static_cast<u64>(i.offset), 4), 4);
  for_lanes(mask, [&](int l) { put(w, i.o[0], l, static_cast<u64>(static_cast<s64>(value))); });
}

template <class T>
void load(Warp& w, const Instruction& i, u32 mask) {
  const Operand& at = i.o[i.count];
  const u32 bytes = static_cast<u32>(sizeof(T)) * i.count;
  if constexpr (sizeof(T) == 4) {
    if (i.space == Space::param && at.constant && i.count == 1) return load_parameter<T>(w, i, mask);
  }
  each_lane(mask, [&](int l) {
    const u8* p = host_address(w, i, l, at, bytes, false);
    for (u32 n = 0; n < i.count; ++n) {
      T value;
      std::memcpy(&value, p + n * sizeof(T), sizeof(T));
      put(w, i.o[n], l, static_cast<u64>(static_cast<s64>(value)));
    }
  });
  if (i.detail == 1) {  // volatile: the lanes may wait for the host
    w.spun |= mask;
    w.block->host_wait = true;
    set_pc(w, w.mask, w.pc);
    w.reselect = true;
  }
}

template <class T>
void store(Warp& w, const Instruction& i, u32 mask) {
  const u32 bytes = static_cast<u32>(sizeof(T)) * i.count;
  each_lane(mask, [&](int l) {
    u8* p = host_address(w, i, l, i.o[0], bytes, true);
    for (u32 n = 0; n < i.count; ++n) {
      const T value = static_cast<T>(raw(w, i.o[n + 1], l));
      std::memcpy(p + n * sizeof(T), &value, sizeof(T));
    }
  });
}

void cvta(Warp& w, const Instruction& i, u32 mask) {  // detail: 1 to a space
  for_lanes(mask, [&](int l) {
    u64 a = raw(w, i.o[1], l);
    if (i.space == Space::shared) {
      if (i.detail && (a & kWindowMask) != kSharedWindow)
        w.block->fault(w, i, l, "takes a generic address for shared memory that is not one");
      a = i.detail ? a & ~kWindowMask : a | kSharedWindow;
    }
    if (i.space == Space::global && (a & kWindowMask) != 0)
      w.block->fault(w, i, l, "takes an address of another space for one of global memory");
    put(w, i.o[0], l, a);
  });
}

Handler load_of(Type t) {
  static const std::map<int, Handler> by_size = {
      {1, load<u8>}, {2, load<u16>}, {4, load<u32>}, {8, load<u64>}};
  if (t == Type::none || t == Type::pred || t == Type::tf32) return nullptr;
  if (t == Type::s8) return load<s8>;
  if (t == Type::s16) return load<s16>;
  return t == Type::s32 ? load<s32> : by_size.at(size_of(t));
}

Handler store_of(Type t) {
  static const std::map<int, Handler> by_size = {
      {1, store<u8>}, {2, store<u16>}, {4, store<u32>}, {8, store<u64>}};
  return t == Type::none || t == Type::pred ? nullptr : by_size.at(size_of(t));
}

enum Atomic : u8 { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCompareAndSwap, kIncrement, kDecrement };

// The new value; for cas it is `c` where `old` equals `b`.
template <class T>
T after(u8 kind, T old, T b, T c) {
  if (kind == kAdd) return op::add(old, b);
  if (kind == kMin) return op::min(old, b);
  if (kind == kMax) return op::max(old, b);
  if (kind == kCompareAndSwap) return old == b ? c : old;
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (kind == kAnd) return old & b;
    if (kind == kOr) return old | b;
    if (kind == kXor) return old ^ b;
    if (kind == kIncrement) return U(old) >= U(b) ? 0 : old + 1;
    if (kind == kDecrement) return old == 0 || U(old) > U(b) ? b : old - 1;
  }
  return b;
}

template <class T, bool Returns>
void atom(Warp& w, const Instruction& i, u32 mask) {
  const size_t first = Returns ? 1 : 0;
  each_lane(mask, [&](int l) {
    u8* p = host_address(w, i, l, i.o[first], sizeof(T), true);
    T old;
    std::memcpy(&old, p, sizeof(T));
    const T c = i.detail == kCompareAndSwap ? w.from<T>(i.o[first + 2])[l] : T{};
    const T next = after<T>(i.detail, old, w.from<T>(i.o[first + 1])[l], c);
    std::memcpy(p, &next, sizeof(T));
    if (Returns && i.o[0].index >= 0) w.to<T>(i.o[0])[l] = old;
  });
  ++w.block->events;
}

template <class T>
Handler atom_of(bool returns) {
  return returns ? static_cast<Handler>(atom<T, true>) : static_cast<Handler>(atom<T, false>);
}

Handler atomic_handler(Instruction& i, const Mnemonic& m) {
  const bool returns = m.operation() == "atom";
  static const std::map<std::string_view, u8> kinds = {
      {"add", kAdd},       {"min", kMin},      {"max", kMax},       {"and", kAnd},
      {"or", kOr},         {"xor", kXor},      {"exch", kExchange}, {"cas", kCompareAndSwap},
      {"inc", kIncrement}, {"dec", kDecrement}};
  const auto part = std::find_if(m.parts.begin(), m.parts.end(), [](auto& p) { return kinds.count(p); });
  if (part == m.parts.end()) return nullptr;
  i.detail = kinds.at(*part);
  const bool bitwise = i.detail == kAnd || i.detail == kOr || i.detail == kXor;
  switch (i.type) {
    case Type::u32:
    case Type::b32:
      return atom_of<u32>(returns);
    case Type::s32:
      return atom_of<s32>(returns);
    case Type::u64:
    case Type::b64:
      return atom_of<u64>(returns);
    case Type::s64:
      return atom_of<s64>(returns);
    case Type::f32:
      return bitwise ? nullptr : atom_of<float>(returns);
    case Type::f64:
      return bitwise ? nullptr : atom_of<double>(returns);
    default:
      return nullptr;
  }
}

}  // namespace

Handler memory_handler(Instruction& i, const Mnemonic& m) {
  if (m.operation() == "ld" || m.operation() == "ldu") {
    i.detail = m.has("volatile");
    return load_of(i.type);
  }
  if (m.operation() == "st") return store_of(i.type);
  if (m.operation() == "cvta") {
    i.detail = m.has("to");
    return cvta;
  }
  return m.operation() == "atom" || m.operation() == "red" ? atomic_handler(i, m) : nullptr;
}

}  // namespace convscope::ptx
