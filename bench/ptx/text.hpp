// Small readings of PTX text that the parser's parts share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/ptx/kernel.hpp"

namespace convscope::ptx {

bool is_name_character(char c);
// Without spaces at the ends, and single ones between.
std::string trimmed(std::string_view s);
// What spaces and commas separate.
std::vector<std::string> words_of(std::string_view s);
// What commas separate that stand in no bracket.
std::vector<std::string> split_operands(std::string_view s);
// ".b32" as a register's type, by size. Throws Fault.
Type declared_type(const std::string& text);
// ".align 16 .b8 NAME[128]": of parameters and variables. Throws Fault.
Variable declared_variable(const std::string& text);

}  // namespace convscope::ptx
