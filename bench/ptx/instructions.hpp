// Which handler runs an instruction, by its mnemonic. Each subject binds its own instructions; bind() asks
// them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/ptx/kernel.hpp"

namespace convscope::ptx {

// "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" and its parts.
struct Mnemonic {
  explicit Mnemonic(const std::string& mnemonic);
  bool has(std::string_view part) const;
  bool starts_with(std::string_view beginning) const { return text.starts_with(beginning); }
  const std::string& operation() const { return parts.front(); }

  std::string text;
  std::vector<std::string> parts;
};

Type type_named(std::string_view name);  // "f32"; Type::none when there is none

// Gives the instruction its handler. Throws Fault for one that is not known.
void bind(Instruction& instruction, const std::string& mnemonic);
// The same for a mov that packs a vector into a register, or takes it apart.
void bind_pack(Instruction& instruction, bool back);

// Null for what is another subject's or nobody's. Type and state space of the instruction are set before, by
// its last and by any part; they may be set again.
Handler arithmetic_handler(Instruction& i, const Mnemonic& m);
Handler conversion_handler(Instruction& i, const Mnemonic& m);
Handler memory_handler(Instruction& i, const Mnemonic& m);
Handler copy_handler(Instruction& i, const Mnemonic& m);
Handler control_handler(Instruction& i, const Mnemonic& m);
Handler barrier_handler(Instruction& i, const Mnemonic& m);
Handler tensor_core_handler(Instruction& i, const Mnemonic& m);

}  // namespace convscope::ptx
