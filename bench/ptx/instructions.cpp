#include "bench/ptx/instructions.hpp"

#include <algorithm>
#include <map>

namespace convscope::ptx {
namespace {

Space space_in(const Mnemonic& m) {
  for (const auto& part : m.parts) {
    if (part == "global") return Space::global;
    if (part == "shared" || part == "shared::cta") return Space::shared;
    if (part == "param") return Space::param;
    if (part == "local") return Space::local;
  }
  return Space::generic;
}

}  // namespace

Mnemonic::Mnemonic(const std::string& mnemonic) : text(mnemonic), parts(1) {
  for (const char c : text)
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
}

bool Mnemonic::has(std::string_view part) const {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

Type type_named(std::string_view name) {
  static const std::map<std::string_view, Type> names = {
      {"pred", Type::pred}, {"b8", Type::b8},   {"u8", Type::u8},   {"s8", Type::s8},     {"b16", Type::b16},
      {"u16", Type::u16},   {"s16", Type::s16}, {"f16", Type::f16}, {"bf16", Type::bf16}, {"b32", Type::b32},
      {"u32", Type::u32},   {"s32", Type::s32}, {"f32", Type::f32}, {"tf32", Type::tf32}, {"b64", Type::b64},
      {"u64", Type::u64},   {"s64", Type::s64}, {"f64", Type::f64}};
  const auto found = names.find(name);
  return found == names.end() ? Type::none : found->second;
}

void bind(Instruction& i, const std::string& mnemonic) {
  const Mnemonic m(mnemonic);
  for (const auto handler_of :
       {mma_handler, wgmma_handler, tensor_copy_handler, copy_handler, mbarrier_handler, barrier_handler,
        warp_handler, control_handler, memory_handler, atomic_handler, conversion_handler, bits_handler,
        arithmetic_handler}) {
    i.type = type_named(m.parts.back());
    i.from = Type::none;
    i.space = space_in(m);
    i.detail = i.detail2 = 0;
    i.run = handler_of(i, m);
    if (i.run != nullptr) return;
  }
  throw Fault("PTX: instruction not known: " + mnemonic);
}

}  // namespace convscope::ptx
