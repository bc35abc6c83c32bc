// Arithmetic, logic, comparisons and moves of 16, 32 and 64 bits and of f32 and f64.
#include <cmath>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/operations.hpp"

namespace convscope::ptx {
namespace {

template <class T, class F>
void unary(Warp& w, const Instruction& i, u32 mask) {
  Slot<T>* d = w.to<Slot<T>>(i.o[0]);
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  for_lanes(mask, [=](int l) { d[l] = stored<T>(F::f(static_cast<T>(a[l]))); });
}

template <class T, class F>
void binary(Warp& w, const Instruction& i, u32 mask) {
  Slot<T>* d = w.to<Slot<T>>(i.o[0]);
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  const Slot<T>* b = w.from<Slot<T>>(i.o[2]);
  for_lanes(mask, [=](int l) { d[l] = stored<T>(F::f(static_cast<T>(a[l]), static_cast<T>(b[l]))); });
}

template <class T, class F>
void ternary(Warp& w, const Instruction& i, u32 mask) {
  Slot<T>* d = w.to<Slot<T>>(i.o[0]);
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  const Slot<T>* b = w.from<Slot<T>>(i.o[2]);
  const Slot<T>* c = w.from<Slot<T>>(i.o[3]);
  for_lanes(mask, [=](int l) {
    d[l] = stored<T>(F::f(static_cast<T>(a[l]), static_cast<T>(b[l]), static_cast<T>(c[l])));
  });
}

// f.operator()<T>() for the C++ type of an integer type, and null for another.
template <class F>
Handler for_integers(Type t, F f) {
  switch (t) {
    case Type::b16:
    case Type::u16:
      return f.template operator()<u16>();
    case Type::s16:
      return f.template operator()<s16>();
    case Type::b32:
    case Type::u32:
      return f.template operator()<u32>();
    case Type::s32:
      return f.template operator()<s32>();
    case Type::b64:
    case Type::u64:
      return f.template operator()<u64>();
    case Type::s64:
      return f.template operator()<s64>();
    default:
      return nullptr;
  }
}

template <class F>
Handler for_numbers(Type t, F f) {
  if (t == Type::f32) return f.template operator()<float>();
  if (t == Type::f64) return f.template operator()<double>();
  return for_integers(t, f);
}

template <class F>
Handler binary_any(Type t) {
  return for_numbers(t, []<class T>() -> Handler { return binary<T, F>; });
}
template <class F>
Handler binary_integer(Type t) {
  return for_integers(t, []<class T>() -> Handler { return binary<T, F>; });
}
template <class F>
Handler unary_any(Type t) {
  return for_numbers(t, []<class T>() -> Handler { return unary<T, F>; });
}
template <class F>
Handler unary_integer(Type t) {
  return for_integers(t, []<class T>() -> Handler { return unary<T, F>; });
}

template <class T, class Wide>
void mul_wide(Warp& w, const Instruction& i, u32 mask) {
  Wide* d = w.to<Wide>(i.o[0]);
  const T* a = w.from<T>(i.o[1]);
  const T* b = w.from<T>(i.o[2]);
  for_lanes(mask, [=](int l) { d[l] = Wide(a[l]) * Wide(b[l]); });
}

template <class T, class Wide>
void mad_wide(Warp& w, const Instruction& i, u32 mask) {
  Wide* d = w.to<Wide>(i.o[0]);
  const T* a = w.from<T>(i.o[1]);
  const T* b = w.from<T>(i.o[2]);
  const Wide* c = w.from<Wide>(i.o[3]);
  for_lanes(mask, [=](int l) { d[l] = Wide(u64(Wide(a[l]) * Wide(b[l])) + u64(c[l])); });
}

template <class T>
void shl(Warp& w, const Instruction& i, u32 mask) {
  Slot<T>* d = w.to<Slot<T>>(i.o[0]);
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  const u32* b = w.from<u32>(i.o[2]);
  constexpr u32 bits = 8 * sizeof(T);
  for_lanes(mask, [=](int l) { d[l] = b[l] >= bits ? 0 : stored<T>(T(T(a[l]) << b[l])); });
}

template <class T>
void shr(Warp& w, const Instruction& i, u32 mask) {
  Slot<T>* d = w.to<Slot<T>>(i.o[0]);
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  const u32* b = w.from<u32>(i.o[2]);
  constexpr u32 bits = 8 * sizeof(T);
  for_lanes(mask, [=](int l) {
    if constexpr (std::is_signed_v<T>)
      d[l] = stored<T>(T(T(a[l]) >> std::min(b[l], bits - 1)));
    else
      d[l] = b[l] >= bits ? 0 : stored<T>(T(T(a[l]) >> b[l]));
  });
}

template <class T, class C>
void setp(Warp& w, const Instruction& i, u32 mask) {
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  const Slot<T>* b = w.from<Slot<T>>(i.o[2]);
  u32 bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= u32{C::f(static_cast<T>(a[l]), static_cast<T>(b[l]))} << l;
  put_predicate(w, i.o[0], mask, bits);
}

template <class T>
Handler setp_of(const std::string& comparison) {
  if (comparison == "eq") return setp<T, Equal>;
  if (comparison == "ne") return setp<T, NotEqual>;
  if (comparison == "lt" || comparison == "lo") return setp<T, Less>;
  if (comparison == "le" || comparison == "ls") return setp<T, LessOrEqual>;
  if (comparison == "gt" || comparison == "hi") return setp<T, Swapped<Less>>;
  if (comparison == "ge" || comparison == "hs") return setp<T, Swapped<LessOrEqual>>;
  if constexpr (std::is_floating_point_v<T>) {
    if (comparison == "equ") return setp<T, OrUnordered<Equal>>;
    if (comparison == "neu") return setp<T, OrUnordered<NotEqual>>;
    if (comparison == "ltu") return setp<T, OrUnordered<Less>>;
    if (comparison == "leu") return setp<T, OrUnordered<LessOrEqual>>;
    if (comparison == "gtu") return setp<T, OrUnordered<Swapped<Less>>>;
    if (comparison == "geu") return setp<T, OrUnordered<Swapped<LessOrEqual>>>;
    if (comparison == "nan") return setp<T, Unordered>;
    if (comparison == "num") return setp<T, Ordered>;
  }
  return nullptr;
}

template <class T>
void selp(Warp& w, const Instruction& i, u32 mask) {
  T* d = w.to<T>(i.o[0]);
  const T* a = w.from<T>(i.o[1]);
  const T* b = w.from<T>(i.o[2]);
  const u32 p = w.predicate(i.o[3]);
  for_lanes(mask, [=](int l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
}

template <class F>
void predicate_binary(Warp& w, const Instruction& i, u32 mask) {
  put_predicate(w, i.o[0], mask, F::template f<u32>(w.predicate(i.o[1]), w.predicate(i.o[2])));
}

template <class F>
void predicate_unary(Warp& w, const Instruction& i, u32 mask) {
  put_predicate(w, i.o[0], mask, F::template f<u32>(w.predicate(i.o[1])));
}

Handler of_predicates(const std::string& operation) {
  if (operation == "and") return predicate_binary<And>;
  if (operation == "or") return predicate_binary<Or>;
  if (operation == "xor") return predicate_binary<Xor>;
  if (operation == "not") return predicate_unary<Not>;
  if (operation == "mov") return predicate_unary<Mov>;
  return nullptr;
}

Handler multiplication(Type t, const Mnemonic& m) {
  const bool adds = m.operation() == "mad";
  if (m.has("wide")) {
    if (t == Type::s32) return adds ? mad_wide<s32, s64> : mul_wide<s32, s64>;
    if (t == Type::u32) return adds ? mad_wide<u32, u64> : mul_wide<u32, u64>;
    return nullptr;
  }
  if (m.has("hi")) return adds ? nullptr : binary_integer<MulHi>(t);
  if (!adds) return binary_any<Mul>(t);
  if (t == Type::u32 || t == Type::s32) return ternary<u32, Mad>;
  if (t == Type::u64 || t == Type::s64) return ternary<u64, Mad>;
  return nullptr;
}

Handler of_two_numbers(Type t, const std::string& operation) {
  if (operation == "add") return binary_any<Add>(t);
  if (operation == "sub") return binary_any<Sub>(t);
  if (operation == "div") return binary_any<Div>(t);
  if (operation == "min") return binary_any<Min>(t);
  if (operation == "max") return binary_any<Max>(t);
  if (operation == "rem") return binary_integer<Rem>(t);
  if (operation == "and") return binary_integer<And>(t);
  if (operation == "or") return binary_integer<Or>(t);
  if (operation == "xor") return binary_integer<Xor>(t);
  if (operation == "not") return unary_integer<Not>(t);
  if (operation == "neg") return unary_any<Neg>(t);
  if (operation == "abs") return unary_any<Abs>(t);
  return nullptr;
}

Handler move(Type t) {
  if (size_of(t) == 8) return unary<u64, Mov>;
  return size_of(t) == 1 ? nullptr : static_cast<Handler>(unary<u32, Mov>);
}

// Roundings and flushes that are not computed here would be computed wrongly.
bool is_refused(Type t, const Mnemonic& m) {
  if (t == Type::f16 || t == Type::bf16) return true;
  if (!is_float(t)) return false;
  for (const char* part : {"ftz", "rz", "rm", "rp", "approx", "full", "sat"})
    if (m.has(part)) return true;
  return false;
}

}  // namespace

Handler arithmetic_handler(Instruction& i, const Mnemonic& m) {
  const std::string& operation = m.operation();
  const Type t = i.type;
  if (is_refused(t, m)) return nullptr;
  if (operation == "setp") {
    if (m.parts.size() != 3) return nullptr;
    return for_numbers(t, [&]<class T>() { return setp_of<T>(m.parts[1]); });
  }
  if (operation == "selp") return size_of(t) == 8 ? selp<u64> : selp<u32>;
  if (t == Type::pred) return of_predicates(operation);
  if (operation == "mul" || operation == "mad") return multiplication(t, m);
  if (operation == "mov") return move(t);
  if (operation == "fma")
    return t == Type::f32 ? ternary<float, Fma> : t == Type::f64 ? ternary<double, Fma> : nullptr;
  if (operation == "shl" || operation == "shr")
    return for_integers(t, [&]<class T>() -> Handler { return operation == "shl" ? shl<T> : shr<T>; });
  return of_two_numbers(t, operation);
}

}  // namespace convscope::ptx
