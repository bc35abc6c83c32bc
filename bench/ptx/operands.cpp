// The operands of an instruction: registers, symbols, numbers, addresses, vectors.
#include <algorithm>
#include <bit>
#include <cctype>

#include "bench/ptx/kernel_parser.hpp"
#include "bench/ptx/text.hpp"

namespace convscope::ptx {

int KernelParser::register_of(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto f = scope->find(name); f != scope->end() && !f->second.numbered) return f->second.first;
    size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
    if (digits == name.size()) continue;
    const auto f = scope->find(name.substr(0, digits));
    if (f == scope->end() || !f->second.numbered) continue;
    const int n = std::stoi(name.substr(digits));
    if (n < f->second.count) return f->second.first + n;
  }
  return -1;
}

Operand KernelParser::constant(u64 value, bool wide) {
  const auto key = std::make_pair(value, wide);
  auto [it, fresh] = constant_places_.try_emplace(key, static_cast<s32>(kernel_.constants.size()));
  if (fresh) {
    if (wide) {
      for (int l = 0; l < kLanes; ++l) {
        kernel_.constants.push_back(static_cast<u32>(value));
        kernel_.constants.push_back(static_cast<u32>(value >> 32));
      }
    } else {
      kernel_.constants.insert(kernel_.constants.end(), kLanes, static_cast<u32>(value));
    }
  }
  return {it->second, true, wide};
}

bool KernelParser::wide_operand(const Instruction& i, const std::string& mnemonic, size_t position) const {
  const Type t = i.from != Type::none && position > 0 ? i.from : i.type;
  if (size_of(t) != 8) return false;
  if (mnemonic.starts_with("shl") || mnemonic.starts_with("shr")) return position < 2;
  if (mnemonic.starts_with("mad.wide")) return position == 3;
  if (mnemonic.starts_with("mul.wide")) return false;
  return true;
}

bool KernelParser::symbol(const std::string& name, Symbol& found) {
  if (const auto s = symbols_.find(name); s != symbols_.end()) {
    found = s->second;
    return true;
  }
  if (const auto v = module_.shared_.find(name); v != module_.shared_.end()) {
    add_shared(v->second);
    found = symbols_[name];
    return true;
  }
  return false;
}

Operand KernelParser::operand(const std::string& word, const Instruction& i, const std::string& mnemonic,
                              size_t position) {
  if (word == "_") return {};
  if (const int r = register_of(word); r >= 0) return {r, false, is_wide(r)};
  if (word[0] == '%') return special_register(word);
  const bool wide = wide_operand(i, mnemonic, position);
  Symbol s;
  if (symbol(word, s)) return symbol_constant(word, s, wide);
  if (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '-')
    return number(word, i, wide, position);
  fail("operand not known: " + word + " in " + mnemonic);
}

// A register that is set at the start of the warp.
Operand KernelParser::special_register(const std::string& name) {
  auto [it, fresh] = specials_.try_emplace(name, static_cast<int>(registers_.size()));
  if (fresh) {
    const bool wide = name.find("64") != std::string::npos || name == "%globaltimer";
    registers_.push_back({wide ? Type::b64 : Type::b32, -1});
  }
  return {it->second, false, is_wide(it->second)};
}

// An integer, or a floating-point number given by its bits: 0f3f800000, 0d3ff0000000000000.
Operand KernelParser::number(const std::string& word, const Instruction& i, bool wide, size_t position) {
  if (word.starts_with("0f") || word.starts_with("0F")) {
    const u32 bits = static_cast<u32>(std::stoull(word.substr(2), nullptr, 16));
    if (!wide) return constant(bits, false);
    return constant(std::bit_cast<u64>(static_cast<double>(std::bit_cast<float>(bits))), true);
  }
  if (word.starts_with("0d") || word.starts_with("0D")) {
    const u64 bits = std::stoull(word.substr(2), nullptr, 16);
    if (wide) return constant(bits, true);
    return constant(std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(bits))), false);
  }
  const bool negative = word[0] == '-';
  const u64 magnitude = std::stoull(word.substr(negative ? 1 : 0), nullptr, 0);
  const u64 value = negative ? u64{0} - magnitude : magnitude;
  if (i.type == Type::pred && position > 0) return constant(value ? ~u32{0} : 0, false);
  return constant(value, wide);
}

// The address of dynamic shared memory is known only after all static variables, so that each symbol of
// shared memory has its own constant, which place_symbols() sets.
Operand KernelParser::symbol_constant(const std::string& name, const Symbol& s, bool wide) {
  if (s.space != Space::shared) return constant(s.value, wide);
  auto [it, fresh] = symbol_places_.try_emplace({name, wide}, static_cast<s32>(kernel_.constants.size()));
  if (fresh) kernel_.constants.insert(kernel_.constants.end(), size_t{wide ? 2u : 1u} * kLanes, 0);
  return {it->second, true, wide};
}

void KernelParser::add_operand(Instruction& i, size_t& n, const Operand& o) {
  if (n < 15)
    i.o[n] = o;
  else
    i.more.push_back(o);
  ++n;
}

void KernelParser::flat_operand(Instruction& i, const std::string& mnemonic, const std::string& text,
                                size_t& n, size_t position) {
  if (text[0] == '{') {
    const auto parts = split_operands(std::string_view(text).substr(1, text.size() - 2));
    i.count = static_cast<u8>(std::max<size_t>(i.count, parts.size()));
    for (const auto& p : parts) flat_operand(i, mnemonic, p, n, position);
    return;
  }
  if (text[0] == '[') {
    const auto parts = split_operands(std::string_view(text).substr(1, text.size() - 2));
    address(i, mnemonic, parts[0], n);
    for (size_t p = 1; p < parts.size(); ++p) flat_operand(i, mnemonic, parts[p], n, position);
    return;
  }
  if (const size_t bar = text.find('|'); bar != std::string::npos) {
    if (!mnemonic.starts_with("shfl") && !mnemonic.starts_with("elect")) fail("two results of " + mnemonic);
    flat_operand(i, mnemonic, trimmed(text.substr(0, bar)), n, position);
    flat_operand(i, mnemonic, trimmed(text.substr(bar + 1)), n, position);
    return;
  }
  if (text[0] == '!') fail("negated operand of " + mnemonic);
  add_operand(i, n, operand(text, i, mnemonic, position));
}

void KernelParser::address(Instruction& i, const std::string& mnemonic, const std::string& text, size_t& n) {
  std::string base = text;
  const size_t plus = text.find('+');
  if (plus != std::string::npos) {
    base = trimmed(text.substr(0, plus));
    if (i.addresses > 1) fail("a third address with an offset in " + mnemonic);
    (i.addresses == 0 ? i.offset : i.offset2) = std::stoll(trimmed(text.substr(plus + 1)), nullptr, 0);
  }
  ++i.addresses;
  if (const int r = register_of(base); r >= 0) {
    add_operand(i, n, {r, false, is_wide(r)});
    return;
  }
  Symbol s;
  if (symbol(base, s)) {
    add_operand(i, n, symbol_constant(base, s, true));
    if (i.space == Space::generic && s.space == Space::shared) fail("generic address of a shared symbol");
    return;
  }
  if (std::isdigit(static_cast<unsigned char>(base[0]))) {
    add_operand(i, n, constant(std::stoull(base, nullptr, 0), true));
    return;
  }
  fail("address not known: " + text + " in " + mnemonic);
}

}  // namespace convscope::ptx
