// The handler of an instruction, found by its mnemonic. Each source file binds the instructions of its
// subject; bind() asks all of them.
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

// Sets the handler of the instruction. Throws Fault for an unknown one.
void bind(Instruction& instruction, const std::string& mnemonic);
// The same for a mov that packs a vector into a register, or with `back` unpacks it.
void bind_pack(Instruction& instruction, bool back);

// Null for instructions of other subjects. The instruction's type is preset from the last part of its
// mnemonic, its state space from any part; a handler's binding may change both.
Handler arithmetic_handler(Instruction& i, const Mnemonic& m);
Handler conversion_handler(Instruction& i, const Mnemonic& m);
Handler memory_handler(Instruction& i, const Mnemonic& m);
Handler copy_handler(Instruction& i, const Mnemonic& m);
Handler control_handler(Instruction& i, const Mnemonic& m);
Handler barrier_handler(Instruction& i, const Mnemonic& m);
Handler tensor_core_handler(Instruction& i, const Mnemonic& m);

}  // namespace convscope::ptx
