// Loads and stores of all state spaces, and conversions of their addresses.
#include <cstring>
#include <string>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/places.hpp"

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

}  // namespace

u8* place(Warp& w, const Instruction& i, int l, u64 address, u32 bytes, bool write) {
  Space space = i.space;
  if (space == Space::generic) {
    const u64 window = address & kWindowMask;
    space = window == kSharedWindow  ? Space::shared
            : window == kParamWindow ? Space::param
            : window == kLocalWindow ? Space::local
                                     : Space::global;
  }
  switch (space) {
    case Space::shared:
      return w.block->shared_at(w, i, l, i.space == Space::generic ? address & ~kWindowMask : address, bytes,
                                write);
    case Space::param:
      return param_at(w, i, l, address, bytes);
    case Space::local:
      return local_at(w, i, l, address, bytes);
    default:
      return w.block->global(w, i, l, address, bytes, write ? "writes" : "reads");
  }
}

namespace {

// The same parameter for all lanes.
void load_parameter(Warp& w, const Instruction& i, u32 mask) {
  u32 value;
  std::memcpy(&value, param_at(w, i, 0, w.address(i.o[1], 0) + static_cast<u64>(i.offset), 4), 4);
  for_lanes(mask, [&](int l) { put(w, i.o[0], l, value); });
}

template <class T>
void load(Warp& w, const Instruction& i, u32 mask) {
  const Operand& at = i.o[i.count];
  const u32 bytes = static_cast<u32>(sizeof(T)) * i.count;
  if constexpr (sizeof(T) == 4) {
    if (i.space == Space::param && at.constant && i.count == 1) return load_parameter(w, i, mask);
  }
  for (u32 k = mask; k != 0; k &= k - 1) {
    const int l = std::countr_zero(k);
    const u8* p = place(w, i, l, w.address(at, l) + static_cast<u64>(i.offset), bytes, false);
    for (u32 n = 0; n < i.count; ++n) {
      T value;
      std::memcpy(&value, p + n * sizeof(T), sizeof(T));
      if constexpr (sizeof(T) == 4) {
        if (!i.o[n].wide && i.o[n].index >= 0) {
          w.to<u32>(i.o[n])[l] = static_cast<u32>(value);
          continue;
        }
      }
      put(w, i.o[n], l, static_cast<u64>(static_cast<s64>(value)));
    }
  }
  if (i.detail == 1) {  // volatile: somebody outside may be awaited
    w.spun |= mask;
    w.block->host_wait = true;
    leave_pc(w, w.mask, w.pc);
    w.reselect = true;
  }
}

template <class T>
void store(Warp& w, const Instruction& i, u32 mask) {
  const u32 bytes = static_cast<u32>(sizeof(T)) * i.count;
  for (u32 k = mask; k != 0; k &= k - 1) {
    const int l = std::countr_zero(k);
    u8* p = place(w, i, l, w.address(i.o[0], l) + static_cast<u64>(i.offset), bytes, true);
    for (u32 n = 0; n < i.count; ++n) {
      const T value = static_cast<T>(raw(w, i.o[n + 1], l));
      std::memcpy(p + n * sizeof(T), &value, sizeof(T));
    }
  }
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
  switch (t) {
    case Type::s8:
      return load<s8>;
    case Type::s16:
      return load<s16>;
    case Type::s32:
      return load<s32>;
    case Type::none:
    case Type::pred:
    case Type::tf32:
      return nullptr;
    default:
      return size_of(t) == 1   ? load<u8>
             : size_of(t) == 2 ? load<u16>
             : size_of(t) == 4 ? load<u32>
                               : static_cast<Handler>(load<u64>);
  }
}

Handler store_of(Type t) {
  if (t == Type::none || t == Type::pred) return nullptr;
  return size_of(t) == 1   ? store<u8>
         : size_of(t) == 2 ? store<u16>
         : size_of(t) == 4 ? store<u32>
                           : static_cast<Handler>(store<u64>);
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
  return nullptr;
}

}  // namespace convscope::ptx
