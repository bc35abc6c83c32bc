// Arithmetic, logic, comparisons, moves and packing of 16, 32 and 64 bits and of f32 and f64.
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/lanes.hpp"
#include "bench/ptx/operations.hpp"

namespace convscope::ptx {
namespace {

template <class To, auto F, class... From, size_t... N>
void compute_operands(Warp& w, const Instruction& i, u32 mask, std::index_sequence<N...>) {
  const auto in_lanes = [mask](Slot<To>* d, const Slot<From>*... from) {
    for_lanes(mask, [=](int l) { d[l] = stored<To>(F(static_cast<From>(from[l])...)); });
  };
  in_lanes(w.to<Slot<To>>(i.o[0]), w.from<Slot<From>>(i.o[N + 1])...);
}

// Sets the first operand to F of the others, each of which has its own type.
template <class To, auto F, class... From>
void compute(Warp& w, const Instruction& i, u32 mask) {
  compute_operands<To, F, From...>(w, i, mask, std::index_sequence_for<From...>());
}

// f.operator()<T>() for the C++ type that holds numbers of type t; null where there is none.
template <class F>
Handler for_numbers(Type t, F f) {
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
    case Type::f32:
      return f.template operator()<float>();
    case Type::f64:
      return f.template operator()<double>();
    default:
      return nullptr;
  }
}

// The handler of an operation on one or two numbers of type t; null where the operation has no such type.
template <auto F>
Handler handler_of(Type t) {
  return for_numbers(t, []<class T>() -> Handler {
    using Operation = decltype(F);
    if constexpr (std::is_invocable_v<Operation, T>)
      return compute<T, F, T>;
    else if constexpr (std::is_invocable_v<Operation, T, T>)
      return compute<T, F, T, T>;
    else
      return nullptr;
  });
}

template <auto F>
Handler shift_of(Type t) {
  return for_numbers(t, []<class T>() -> Handler {
    if constexpr (std::is_integral_v<T>)
      return compute<T, F, T, u32>;
    else
      return nullptr;
  });
}

template <class T, auto F>
void setp(Warp& w, const Instruction& i, u32 mask) {
  const Slot<T>* a = w.from<Slot<T>>(i.o[1]);
  const Slot<T>* b = w.from<Slot<T>>(i.o[2]);
  u32 bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= u32{F(static_cast<T>(a[l]), static_cast<T>(b[l]))} << l;
  put_predicate(w, i.o[0], mask, bits);
}

Handler found_in(const std::map<std::string_view, Handler>& handlers, std::string_view name) {
  const auto found = handlers.find(name);
  return found == handlers.end() ? nullptr : found->second;
}

template <class T>
Handler setp_of(std::string_view comparison) {
  static const std::map<std::string_view, Handler> all = {{"eq", setp<T, op::equal>},
                                                          {"ne", setp<T, op::not_equal>},
                                                          {"lt", setp<T, op::less>},
                                                          {"lo", setp<T, op::less>},
                                                          {"le", setp<T, op::less_or_equal>},
                                                          {"ls", setp<T, op::less_or_equal>},
                                                          {"gt", setp<T, op::greater>},
                                                          {"hi", setp<T, op::greater>},
                                                          {"ge", setp<T, op::greater_or_equal>},
                                                          {"hs", setp<T, op::greater_or_equal>}};
  if constexpr (std::is_floating_point_v<T>) {
    static const std::map<std::string_view, Handler> of_floats = {
        {"equ", setp<T, op::or_unordered<op::equal>>},
        {"neu", setp<T, op::or_unordered<op::not_equal>>},
        {"ltu", setp<T, op::or_unordered<op::less>>},
        {"leu", setp<T, op::or_unordered<op::less_or_equal>>},
        {"gtu", setp<T, op::or_unordered<op::greater>>},
        {"geu", setp<T, op::or_unordered<op::greater_or_equal>>},
        {"nan", setp<T, op::unordered>},
        {"num", setp<T, op::ordered>}};
    if (Handler handler = found_in(of_floats, comparison)) return handler;
  }
  return found_in(all, comparison);
}

template <class T>
void selp(Warp& w, const Instruction& i, u32 mask) {
  T* d = w.to<T>(i.o[0]);
  const T* a = w.from<T>(i.o[1]);
  const T* b = w.from<T>(i.o[2]);
  const u32 p = w.predicate(i.o[3]);
  for_lanes(mask, [=](int l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
}

template <auto F>
void of_predicates(Warp& w, const Instruction& i, u32 mask) {
  if constexpr (std::is_invocable_v<decltype(F), u32>)
    put_predicate(w, i.o[0], mask, F(w.predicate(i.o[1])));
  else
    put_predicate(w, i.o[0], mask, F(w.predicate(i.o[1]), w.predicate(i.o[2])));
}

Handler multiplication(Type t, const Mnemonic& m) {
  const bool adds = m.operation() == "mad";
  if (m.has("wide")) {
    if (t == Type::s32)
      return adds ? compute<s64, op::mad_wide, s32, s32, s64> : compute<s64, op::mul_wide, s32, s32>;
    if (t == Type::u32)
      return adds ? compute<u64, op::mad_wide, u32, u32, u64> : compute<u64, op::mul_wide, u32, u32>;
    return nullptr;
  }
  if (m.has("hi")) return adds ? nullptr : handler_of<op::mul_hi>(t);
  if (!adds) return handler_of<op::mul>(t);
  if (t == Type::u32 || t == Type::s32) return compute<u32, op::mad, u32, u32, u32>;
  if (t == Type::u64 || t == Type::s64) return compute<u64, op::mad, u64, u64, u64>;
  return nullptr;
}

Handler move(Type t) {
  if (size_of(t) == 8) return compute<u64, op::mov, u64>;
  return size_of(t) == 1 ? nullptr : static_cast<Handler>(compute<u32, op::mov, u32>);
}

Handler fused(Type t) {
  if (t == Type::f32) return compute<float, op::fma, float, float, float>;
  return t == Type::f64 ? compute<double, op::fma, double, double, double> : nullptr;
}

// Types, rounding and other modes that are refused, as they would be computed wrongly.
bool is_unsupported(Type t, const Mnemonic& m) {
  if (t == Type::f16 || t == Type::bf16) return true;
  for (const char* part : {"ftz", "rz", "rm", "rp", "approx", "full", "sat", "NaN", "xorsign"})
    if (m.has(part)) return true;
  return false;
}

// mov between a register and a vector of its parts: mov.b32 %r, {%rs0, %rs1}.
void pack(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type)) / i.count;
  const u64 part = (u64{1} << bits) - 1;
  for_lanes(mask, [&](int l) {
    u64 value = 0;
    for (u32 n = 0; n < i.count; ++n) value |= (raw(w, i.o[n + 1], l) & part) << (n * bits);
    put(w, i.o[0], l, value);
  });
}

void unpack(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type)) / i.count;
  const u64 part = (u64{1} << bits) - 1;
  for_lanes(mask, [&](int l) {
    const u64 value = raw(w, i.o[i.count], l);
    for (u32 n = 0; n < i.count; ++n) put(w, i.o[n], l, value >> (n * bits) & part);
  });
}

void popc(Warp& w, const Instruction& i, u32 mask) {
  for_lanes(mask, [&](int l) { put(w, i.o[0], l, static_cast<u64>(std::popcount(raw(w, i.o[1], l)))); });
}
void clz(Warp& w, const Instruction& i, u32 mask) {
  const int bits = 8 * size_of(i.type);
  for_lanes(mask, [&](int l) {
    put(w, i.o[0], l, static_cast<u64>(std::countl_zero(raw(w, i.o[1], l)) - (64 - bits)));
  });
}
void brev(Warp& w, const Instruction& i, u32 mask) {
  const int bits = 8 * size_of(i.type);
  for_lanes(mask, [&](int l) {
    const u64 a = raw(w, i.o[1], l);
    u64 r = 0;
    for (int b = 0; b < bits; ++b) r |= (a >> b & 1) << (bits - 1 - b);
    put(w, i.o[0], l, r);
  });
}
void bfi(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type));
  for_lanes(mask, [&](int l) {
    const u64 a = raw(w, i.o[1], l), b = raw(w, i.o[2], l);
    const u32 at = static_cast<u32>(raw(w, i.o[3], l)) & 0xff,
              length = static_cast<u32>(raw(w, i.o[4], l)) & 0xff;
    u64 r = b;
    for (u32 n = 0; n < length && at + n < bits; ++n)
      r = (r & ~(u64{1} << (at + n))) | (a >> n & 1) << (at + n);
    put(w, i.o[0], l, r);
  });
}
void bfe(Warp& w, const Instruction& i, u32 mask) {
  const u32 bits = 8 * static_cast<u32>(size_of(i.type));
  const bool is_signed = i.type == Type::s32 || i.type == Type::s64;
  for_lanes(mask, [&](int l) {
    const u64 a = raw(w, i.o[1], l);
    const u32 at = static_cast<u32>(raw(w, i.o[2], l)) & 0xff,
              length = static_cast<u32>(raw(w, i.o[3], l)) & 0xff;
    const u64 sign = is_signed && length > 0 ? a >> std::min(at + length - 1, bits - 1) & 1 : 0;
    u64 r = 0;
    for (u32 n = 0; n < bits; ++n) r |= (n < length && at + n < bits ? a >> (at + n) & 1 : sign) << n;
    put(w, i.o[0], l, r);
  });
}
void shf(Warp& w, const Instruction& i, u32 mask) {  // detail: 1 left, 2 wraps
  for_lanes(mask, [&](int l) {
    const u64 both = w.from<u32>(i.o[1])[l] | u64{w.from<u32>(i.o[2])[l]} << 32;
    u32 n = w.from<u32>(i.o[3])[l];
    n = i.detail & 2 ? n & 31 : std::min(n, 32u);
    w.to<u32>(i.o[0])[l] = static_cast<u32>(i.detail & 1 ? both << n >> 32 : both >> n);
  });
}

Handler bits_handler(Instruction& i, const Mnemonic& m) {
  static const std::map<std::string_view, Handler> handlers = {
      {"popc", popc}, {"clz", clz}, {"brev", brev},
      {"bfi", bfi},   {"bfe", bfe}, {"lop3", compute<u32, op::lop3, u32, u32, u32, u32>}};
  if (m.operation() == "prmt" && m.parts.size() == 2) return compute<u32, op::prmt, u32, u32, u32>;
  if (m.operation() == "shf" && m.parts.size() > 1) {
    i.detail = static_cast<u8>((m.parts[1] == "l") | (m.has("wrap") ? 2 : 0));
    return shf;
  }
  return found_in(handlers, m.operation());
}

}  // namespace

void bind_pack(Instruction& i, bool back) {
  i.run = back ? unpack : pack;
}

Handler arithmetic_handler(Instruction& i, const Mnemonic& m) {
  static const std::map<std::string_view, Handler> predicates = {{"and", of_predicates<op::bit_and>},
                                                                 {"or", of_predicates<op::bit_or>},
                                                                 {"xor", of_predicates<op::bit_xor>},
                                                                 {"not", of_predicates<op::bit_not>},
                                                                 {"mov", of_predicates<op::mov>}};
  static const std::map<std::string_view, Handler (*)(Type)> numbers = {{"add", handler_of<op::add>},
                                                                        {"sub", handler_of<op::sub>},
                                                                        {"div", handler_of<op::div>},
                                                                        {"min", handler_of<op::min>},
                                                                        {"max", handler_of<op::max>},
                                                                        {"rem", handler_of<op::rem>},
                                                                        {"and", handler_of<op::bit_and>},
                                                                        {"or", handler_of<op::bit_or>},
                                                                        {"xor", handler_of<op::bit_xor>},
                                                                        {"not", handler_of<op::bit_not>},
                                                                        {"neg", handler_of<op::neg>},
                                                                        {"abs", handler_of<op::abs>},
                                                                        {"shl", shift_of<op::shl>},
                                                                        {"shr", shift_of<op::shr>},
                                                                        {"fma", fused},
                                                                        {"mov", move}};
  const std::string& operation = m.operation();
  const Type t = i.type;
  if (Handler handler = bits_handler(i, m)) return handler;
  if (operation == "rsqrt" && t == Type::f32 && m.parts.size() == 3 && m.has("approx"))
    return compute<float, op::rsqrt, float>;
  if (operation == "ex2" && t == Type::f32 && m.parts.size() == 3 && m.has("approx"))
    return compute<float, op::ex2, float>;
  if (operation == "rcp" && t == Type::f32 && m.parts.size() == 3 && m.has("rn"))
    return compute<float, op::rcp, float>;
  if (is_unsupported(t, m)) return nullptr;
  if (operation == "setp") {
    if (m.parts.size() != 3) return nullptr;
    return for_numbers(t, [&]<class T>() { return setp_of<T>(m.parts[1]); });
  }
  if (operation == "selp") return size_of(t) == 8 ? selp<u64> : selp<u32>;
  if (t == Type::pred) return found_in(predicates, operation);
  if (operation == "mul" || operation == "mad") return multiplication(t, m);
  const auto found = numbers.find(operation);
  return found == numbers.end() ? nullptr : found->second(t);
}

}  // namespace convscope::ptx
