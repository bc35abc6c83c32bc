// atom and red, one lane after another.
#include <algorithm>
#include <cstring>
#include <map>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/operations.hpp"
#include "bench/ptx/places.hpp"

namespace convscope::ptx {
namespace {

enum Atomic : u8 { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCompareAndSwap, kIncrement, kDecrement };

// What is there next; of cas `c` where `b` was found.
template <class T>
T after(u8 kind, T old, T b, T c) {
  if (kind == kAdd) return Add::f<T>(old, b);
  if (kind == kMin) return Min::f<T>(old, b);
  if (kind == kMax) return Max::f<T>(old, b);
  if (kind == kCompareAndSwap) return old == b ? c : old;
  if constexpr (std::is_integral_v<T>) {
    using U = Wrapping<T>;
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
  for (u32 k = mask; k != 0; k &= k - 1) {
    const int l = std::countr_zero(k);
    u8* p = place(w, i, l, w.address(i.o[first], l) + static_cast<u64>(i.offset), sizeof(T), true);
    T old;
    std::memcpy(&old, p, sizeof(T));
    const T c = i.detail == kCompareAndSwap ? w.from<T>(i.o[first + 2])[l] : T{};
    const T next = after<T>(i.detail, old, w.from<T>(i.o[first + 1])[l], c);
    std::memcpy(p, &next, sizeof(T));
    if (Returns && i.o[0].index >= 0) w.to<T>(i.o[0])[l] = old;
  }
  ++w.block->events;
}

template <class T>
Handler atom_of(bool returns) {
  return returns ? static_cast<Handler>(atom<T, true>) : static_cast<Handler>(atom<T, false>);
}

}  // namespace

Handler atomic_handler(Instruction& i, const Mnemonic& m) {
  const bool returns = m.operation() == "atom";
  if (!returns && m.operation() != "red") return nullptr;
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

}  // namespace convscope::ptx
