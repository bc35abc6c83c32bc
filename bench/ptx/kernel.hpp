// A parsed kernel: instructions with their handlers, operands as offsets into the warp's registers or the
// kernel's constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

// The words that hold an operand's 32 lanes, as an index into the warp's registers or the kernel's constants.
// A register or constant of 64 bits takes 64 words, a smaller one 32, a predicate one (bit l is lane l).
struct Operand {
  s32 index = -1;  // -1: none
  bool constant = false;
  bool wide = false;  // 64 bits
};

struct Warp;
struct Instruction;
// Runs an instruction for the lanes of a mask.
using Handler = void (*)(Warp&, const Instruction&, u32 mask);

struct Instruction {
  Handler run = nullptr;
  s32 guard = -1;  // predicate
  bool guard_negated = false;
  Space space = Space::generic;
  Type type = Type::none;
  Type from = Type::none;  // of cvt
  u8 count = 1;            // elements of a vector
  u8 detail = 0;           // meaning depends on the handler: rounding, shuffle mode, number of groups
  u8 detail2 = 0;
  s32 target = -1;              // of a branch
  s64 offset = 0, offset2 = 0;  // of the first address and of the second
  u8 addresses = 0;
  Operand o[15];              // in the order of the text
  std::vector<Operand> more;  // operands after the 15th
  u32 line = 0;               // index of the text in Kernel::texts
  const Operand& operand(size_t i) const { return i < 15 ? o[i] : more[i - 15]; }
};

struct Parameter {
  u32 offset = 0, size = 0;  // bytes
};

struct Variable {
  std::string name;
  u32 offset = 0, size = 0, align = 1;  // bytes
  bool dynamic = false;
};

struct Text {
  std::string text;   // of the instruction
  std::string where;  // FILE:LINE, innermost first
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  u32 parameter_bytes = 0;
  std::vector<Variable> shared;  // that the kernel names, static ones first
  u32 static_shared = 0;         // bytes, up to the dynamic part
  u32 local_bytes = 0;           // per thread
  u32 max_threads = 0;           // .maxntid; 0 where it is not given
  std::vector<Instruction> code;
  std::vector<Text> texts;
  std::vector<u32> constants;
  u32 register_words = 0;
  u32 predicates = 0;                  // the first words of the registers
  std::map<std::string, s32> special;  // special registers, set before the first instruction
  bool has_wgmma = false;
};

}  // namespace convscope::ptx
