// Parses the PTX text of one kernel: assigns registers, and orders basic blocks so that diverged lanes
// reconverge.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/ptx/module.hpp"

namespace convscope::ptx {

class KernelParser {
 public:
  KernelParser(Module& module, const std::string& name);
  // Throws Fault for unknown text.
  Kernel parse();

 private:
  struct Register {
    Type type = Type::none;
    s32 number = -1;  // word index, once assigned
  };
  // Registers of one declaration: "%r<12>", or a single one.
  struct Family {
    Type type = Type::none;
    int first = 0, count = 0;
    bool numbered = false;
  };
  using Scope = std::map<std::string, Family>;
  struct Symbol {
    u64 value = 0;
    Space space = Space::generic;
  };
  enum class Jump : char { none, branch, end };

  [[noreturn]] void fail(const std::string& what) const;
  void parse_header();
  void parse_parameters(std::string_view list);
  void parse_body();
  void statement();
  void note_location(std::string_view line);
  void declare(const std::string& text);
  void declare_registers(const std::vector<std::string>& words);
  void add_shared(Variable variable);
  void instruction(const std::string& text);
  void operands(Instruction& i, const std::string& mnemonic, const std::string& tail);

  // Operands before registers are assigned: register r has index r, constants are final.
  int register_of(const std::string& name) const;  // -1 when it is not a register
  bool is_wide(int r) const { return size_of(registers_[static_cast<size_t>(r)].type) == 8; }
  bool wide_operand(const Instruction& i, const std::string& mnemonic, size_t position) const;
  bool symbol(const std::string& name, Symbol& found);
  Operand constant(u64 value, bool wide);
  Operand symbol_constant(const std::string& name, const Symbol& s, bool wide);
  Operand special_register(const std::string& name);
  Operand number(const std::string& word, const Instruction& i, bool wide, size_t position);
  Operand operand(const std::string& word, const Instruction& i, const std::string& mnemonic,
                  size_t position);
  static void add_operand(Instruction& i, size_t& n, const Operand& o);
  void flat_operand(Instruction& i, const std::string& mnemonic, const std::string& text, size_t& n,
                    size_t position);
  void address(Instruction& i, const std::string& mnemonic, const std::string& text, size_t& n);

  void place_symbols();
  void place_registers();
  struct Blocks;
  size_t target_of(size_t branch) const;  // index of an instruction, or the end
  Blocks find_blocks() const;
  void order_blocks();

  Module& module_;
  const std::string& text_;
  size_t at_ = 0;
  Kernel kernel_;
  std::vector<Scope> scopes_;
  std::vector<Register> registers_;
  std::map<std::string, int> specials_;
  std::map<std::string, Symbol> symbols_;
  std::map<std::string, size_t> labels_;
  std::map<std::pair<u64, bool>, s32> constant_places_;
  std::map<std::pair<std::string, bool>, s32> symbol_places_;
  std::map<size_t, std::string> branches_;  // label by instruction
  std::vector<Instruction> code_;
  std::vector<Jump> jumps_;
  // Of inlined calls, by the location of the innermost.
  std::map<std::string, std::vector<std::string>> chains_;
  std::string where_;
  u32 shared_end_ = kSharedStart, dynamic_align_ = 16;
};

}  // namespace convscope::ptx
