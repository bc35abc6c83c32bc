#include "bench/ptx/text.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "bench/ptx/instructions.hpp"

namespace convscope::ptx {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

std::string trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  std::string result;
  for (const char c : s) {
    const bool space = std::isspace(static_cast<unsigned char>(c));
    if (space && !result.empty() && result.back() == ' ') continue;
    result += space ? ' ' : c;
  }
  return result;
}

std::vector<std::string> words_of(std::string_view s) {
  std::string spaced(s);
  std::replace(spaced.begin(), spaced.end(), ',', ' ');
  std::istringstream text(spaced);
  return {std::istream_iterator<std::string>(text), {}};
}

Type declared_type(const std::string& text) {
  const Type type = text.starts_with('.') ? type_named(text.substr(1)) : Type::none;
  if (type == Type::none) throw Fault("PTX: type of a declaration is not known: " + text);
  return type;
}

Variable declared_variable(const std::string& text) {
  Variable v;
  Type type = Type::none;
  for (const std::string& w : words_of(text)) {
    if (w == ".param" || w == ".shared" || w == ".extern" || w == ".align" || w == ".local" || w == ".ptr" ||
        w == ".global" || w == ".const")
      continue;
    if (std::isdigit(static_cast<unsigned char>(w[0]))) {
      v.align = static_cast<u32>(std::stoul(w));
    } else if (w[0] == '.') {
      type = declared_type(w);
    } else {
      u32 count = 1;
      size_t end = w.find('[');
      v.name = w.substr(0, end);
      while (end != std::string::npos) {
        const size_t close = w.find(']', end);
        if (close == end + 1)
          v.dynamic = true;
        else
          count *= static_cast<u32>(std::stoul(w.substr(end + 1, close - end - 1)));
        end = w.find('[', close);
      }
      v.size = v.dynamic ? 0 : count * static_cast<u32>(size_of(type));
    }
  }
  v.align = std::max(v.align, static_cast<u32>(size_of(type)));
  return v;
}
std::vector<std::string> split_operands(std::string_view s) {
  std::vector<std::string> result;
  std::string word;
  int depth = 0;
  for (const char c : s) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      result.push_back(trimmed(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!trimmed(word).empty()) result.push_back(trimmed(word));
  return result;
}

}  // namespace convscope::ptx
