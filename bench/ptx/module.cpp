#include "bench/ptx/module.hpp"

#include <algorithm>

#include "bench/ptx/kernel_parser.hpp"
#include "bench/ptx/text.hpp"

namespace convscope::ptx {

Module::Module(std::string text) : text_(std::move(text)) {
  int depth = 0;
  for (size_t line = 0; line < text_.size();) {
    const size_t end = std::min(text_.find('\n', line), text_.size());
    const std::string_view whole(text_.data() + line, end - line);
    if (const size_t first = whole.find_first_not_of(" \t"); first != std::string_view::npos) {
      const std::string_view statement = whole.substr(first);
      read_outer_line(statement, line + first, depth);
      for (const char c : statement) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
    line = end + 1;
  }
}

// `offset`: where the line begins in the text; `depth`: braces that are open.
void Module::read_outer_line(std::string_view line, size_t offset, int depth) {
  if (line.starts_with(".file")) {
    const auto words = words_of(line);
    if (words.size() < 3) return;
    std::string path = words[2];
    std::erase(path, '"');
    files_[std::stoi(words[1])] = path.substr(path.rfind('/') + 1);
  }
  if (depth != 0) return;
  if (const size_t entry = line.find(".entry "); entry != std::string_view::npos) {
    const size_t begin = entry + 7;
    size_t stop = begin;
    while (stop < line.size() && is_name_character(line[stop])) ++stop;
    names_.emplace_back(line.substr(begin, stop - begin));
    begin_[names_.back()] = offset + stop;
  } else if (line.starts_with(".shared") || line.starts_with(".extern .shared")) {
    const Variable variable = declared_variable(std::string(line.substr(0, line.find(';'))));
    shared_[variable.name] = variable;
  } else if (line.starts_with(".global") || line.starts_with(".const") || line.starts_with(".func") ||
             line.starts_with(".visible .func")) {
    throw Fault("PTX: not supported at the outermost level: " + std::string(line.substr(0, 80)));
  }
}

const Kernel* Module::kernel(const std::string& name) {
  auto& slot = parsed_[name];
  if (!slot && begin_.count(name)) slot = std::make_unique<Kernel>(KernelParser(*this, name).parse());
  return slot.get();
}

}  // namespace convscope::ptx
