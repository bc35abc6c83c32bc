// How the parser's parts split PTX text into words, operands and declarations.
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
// Of ".b32". Throws Fault.
Type declared_type(const std::string& text);
// ".align 16 .b8 NAME[128]": of parameters and variables. Throws Fault.
Variable declared_variable(const std::string& text);

}  // namespace convscope::ptx
