// Splits a PTX text into kernels, and parses the statements of one; operands are in operands.cpp.
#include "bench/ptx/kernel_parser.hpp"

#include <algorithm>
#include <cctype>

#include "bench/ptx/instructions.hpp"
#include "bench/ptx/text.hpp"

namespace convscope::ptx {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

KernelParser::KernelParser(Module& module, const std::string& name)
    : module_(module), text_(module.text_), at_(module.begin_.at(name)) {
  kernel_.name = name;
}

Kernel KernelParser::parse() {
  parse_header();
  parse_body();
  place_symbols();
  place_registers();
  order_blocks();
  return std::move(kernel_);
}

void KernelParser::fail(const std::string& what) const {
  throw Fault("PTX: " + kernel_.name + ": " + what);
}

void KernelParser::parse_header() {
  size_t open = text_.find('(', at_), brace = text_.find('{', at_);
  if (open < brace) {
    const size_t close = text_.find(')', open);
    if (close == std::string::npos) fail("no end of the parameters");
    parse_parameters(std::string_view(text_).substr(open + 1, close - open - 1));
    open = close;
    brace = text_.find('{', close);
  }
  if (brace == std::string::npos) fail("no body");
  const std::string directives = text_.substr(std::min(open, brace), brace - std::min(open, brace));
  if (const size_t m = directives.find(".maxntid"); m != std::string::npos) {
    kernel_.max_threads = 1;
    const auto w = words_of(std::string_view(directives).substr(m + 8));
    for (size_t i = 0; i < w.size() && is_digit(w[i][0]); ++i)
      kernel_.max_threads *= static_cast<u32>(std::stoul(w[i]));
  }
  at_ = brace + 1;
}

void KernelParser::parse_parameters(std::string_view list) {
  u32 offset = 0;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string one = trimmed(list.substr(begin, end - begin));
    begin = end + 1;
    if (one.empty()) continue;
    const Variable v = declared_variable(one);
    offset = rounded_up(offset, v.align);
    kernel_.parameters.push_back({offset, v.size});
    symbols_[v.name] = {kParamWindow + offset, Space::param};
    offset += v.size;
  }
  kernel_.parameter_bytes = offset;
}

void KernelParser::parse_body() {
  scopes_.emplace_back();
  while (!scopes_.empty()) {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ >= text_.size()) fail("no end");
    const char c = text_[at_];
    if (c == '{') {
      scopes_.emplace_back();
      ++at_;
    } else if (c == '}') {
      scopes_.pop_back();
      ++at_;
    } else if (c == ';') {
      ++at_;
    } else if (text_.compare(at_, 2, "//") == 0 || text_.compare(at_, 5, ".loc ") == 0 ||
               text_.compare(at_, 5, ".loc\t") == 0 || text_.compare(at_, 5, ".file") == 0) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      note_location(std::string_view(text_).substr(at_, end - at_));
      at_ = end;
    } else {
      statement();
    }
  }
}

// A label, or a directive or instruction with its semicolon.
void KernelParser::statement() {
  size_t end = at_;
  while (end < text_.size() && is_name_character(text_[end])) ++end;
  if (end > at_ && end < text_.size() && text_[end] == ':') {
    const std::string label = text_.substr(at_, end - at_);
    if (!labels_.emplace(label, code_.size()).second) fail("label twice: " + label);
    at_ = end + 1;
    return;
  }
  end = text_.find(';', at_);
  if (end == std::string::npos) fail("no semicolon behind " + text_.substr(at_, 40));
  const std::string text = trimmed(std::string_view(text_).substr(at_, end - at_));
  at_ = end + 1;
  if (text[0] == '.')
    declare(text);
  else
    instruction(text);
}

// ".loc 2 31 3, function_name NAME, inlined_at 1 18 7"; other lines are ignored.
void KernelParser::note_location(std::string_view line) {
  const auto w = words_of(line);
  if (w.size() < 3 || w[0] != ".loc") return;
  const auto place = [&](size_t i) {
    const auto file = module_.files_.find(std::stoi(w[i]));
    return (file == module_.files_.end() ? w[i] : file->second) + ":" + w[i + 1];
  };
  // Innermost first; a long chain of inlined calls keeps its first three and last two.
  std::vector<std::string> chain = {place(1)};
  for (size_t i = 4; i + 3 < w.size(); ++i) {
    if (w[i] != "inlined_at") continue;
    const auto outer = chains_.find(w[i + 1] + " " + w[i + 2] + " " + w[i + 3]);
    if (outer == chains_.end())
      chain.push_back(place(i + 1));
    else
      chain.insert(chain.end(), outer->second.begin(), outer->second.end());
  }
  constexpr size_t kMaxPlaces = 5;
  if (chain.size() > kMaxPlaces) chain.erase(chain.begin() + 3, chain.end() - 2);
  where_ = chain[0];
  for (size_t i = 1; i < chain.size(); ++i) where_ += " in " + chain[i];
  if (w.size() > 3) chains_[w[1] + " " + w[2] + " " + w[3]] = std::move(chain);
}

void KernelParser::declare(const std::string& text) {
  const auto w = words_of(text);
  if (w[0] == ".reg") {
    declare_registers(w);
  } else if (w[0] == ".shared") {
    add_shared(declared_variable(text));
  } else if (w[0] == ".local") {
    const Variable v = declared_variable(text);
    kernel_.local_bytes = rounded_up(kernel_.local_bytes, v.align);
    symbols_[v.name] = {kLocalWindow + kernel_.local_bytes, Space::local};
    kernel_.local_bytes += v.size;
  } else if (w[0] != ".pragma" && w[0] != ".noreturn") {
    fail("directive not known: " + text);
  }
}

void KernelParser::declare_registers(const std::vector<std::string>& words) {
  if (words.size() < 2) fail("a declaration of no registers");
  const Type type = declared_type(words[1]);
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t angle = words[i].find('<');
    Family family;
    family.type = type;
    family.numbered = angle != std::string::npos;
    family.count = family.numbered ? std::stoi(words[i].substr(angle + 1)) : 1;
    family.first = static_cast<int>(registers_.size());
    for (int n = 0; n < family.count; ++n) registers_.push_back({type, -1});
    scopes_.back()[words[i].substr(0, angle)] = family;
  }
}

void KernelParser::add_shared(Variable variable) {
  // A gap after each variable, so that accesses beyond its end are detected.
  constexpr u32 kGap = 64;
  if (variable.dynamic) {
    variable.offset = 0;  // set when all static variables are known
    dynamic_align_ = std::max({dynamic_align_, variable.align, 16u});
  } else {
    shared_end_ = rounded_up(shared_end_, variable.align);
    variable.offset = shared_end_;
    shared_end_ += variable.size + kGap;
  }
  symbols_[variable.name] = {variable.offset, Space::shared};
  kernel_.shared.push_back(std::move(variable));
}

void KernelParser::instruction(const std::string& text) {
  Instruction i;
  std::string rest = text;
  if (rest[0] == '@') {
    i.guard_negated = rest[1] == '!';
    const size_t begin = i.guard_negated ? 2 : 1, end = rest.find(' ');
    if (end == std::string::npos) fail("a guard of nothing: " + text);
    i.guard = register_of(rest.substr(begin, end - begin));
    if (i.guard < 0) fail("guard not known: " + text);
    rest = trimmed(std::string_view(rest).substr(end));
  }
  const size_t end = rest.find_first_of(" \t");
  const std::string mnemonic = rest.substr(0, end);
  const std::string tail = end == std::string::npos ? "" : trimmed(std::string_view(rest).substr(end));
  i.line = static_cast<u32>(kernel_.texts.size());
  kernel_.texts.push_back({text, where_});
  try {
    bind(i, mnemonic);
  } catch (const Fault& fault) {
    fail(std::string(fault.what()) + " (" + where_ + ")");
  }
  const bool branches = mnemonic == "bra" || mnemonic == "bra.uni";
  if (branches)
    branches_[code_.size()] = tail;
  else
    operands(i, mnemonic, tail);
  code_.push_back(std::move(i));
  jumps_.push_back(branches                                  ? Jump::branch
                   : mnemonic == "ret" || mnemonic == "exit" ? Jump::end
                                                             : Jump::none);
}

void KernelParser::operands(Instruction& i, const std::string& mnemonic, const std::string& tail) {
  size_t n = 0, position = 0;
  for (const auto& o : split_operands(tail)) flat_operand(i, mnemonic, o, n, position++);
  i.count = std::max<u8>(i.count, 1);
  if (mnemonic.starts_with("mov.b") && i.count > 1) bind_pack(i, tail[0] == '{');
  if (mnemonic.starts_with("wgmma.mma")) kernel_.has_wgmma = true;
  // Coordinates, besides target, map, barrier and, in im2col mode, an offset for each but two of them.
  if (mnemonic.starts_with("cp.async.bulk.tensor"))
    i.count = static_cast<u8>(mnemonic.find(".im2col") == std::string::npos ? n - 3 : (n - 1) / 2);
}

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

// `offset`: of the line in the text; `depth`: number of open braces.
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
