#include "bench/ptx/instructions.hpp"

#include <algorithm>
#include <iterator>

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
  const auto* found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  return found == std::end(kTypeNames) ? Type::none : static_cast<Type>(found - std::begin(kTypeNames));
}

void bind(Instruction& i, const std::string& mnemonic) {
  const Mnemonic m(mnemonic);
  for (const auto handler_of : {tensor_core_handler, copy_handler, barrier_handler, control_handler,
                                memory_handler, conversion_handler, arithmetic_handler}) {
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
