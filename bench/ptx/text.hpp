// Splits PTX text into words, operands and declarations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/ptx/kernel.hpp"

namespace convscope::ptx {

bool is_name_character(char c);
// Without spaces at the ends, with single spaces between words.
std::string trimmed(std::string_view s);
// Separated by spaces and commas.
std::vector<std::string> words_of(std::string_view s);
// Separated by commas outside brackets.
std::vector<std::string> split_operands(std::string_view s);
// The type of ".b32". Throws Fault.
Type declared_type(const std::string& text);
// A parameter or variable: ".align 16 .b8 NAME[128]". Throws Fault.
Variable declared_variable(const std::string& text);

}  // namespace convscope::ptx
