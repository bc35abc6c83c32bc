// The two text forms of a ConvProblem: our one-line form and benchdnn's descriptor.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <variant>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/core/problem.hpp"

namespace convscope {
namespace {

[[noreturn]] void fail(std::string_view line, const std::string& what) {
  throw UsageError("problem line \"" + std::string(line) + "\": " + what);
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Extent2> extent(std::string_view text) {
  const size_t cross = text.find('x');
  const auto h = whole_number(text.substr(0, cross));
  const auto w = cross == std::string_view::npos ? h : whole_number(text.substr(cross + 1));
  if (!h || !w) return std::nullopt;
  return Extent2{*h, *w};
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  size_t begin = 0;
  while ((begin = line.find_first_not_of(" \t", begin)) != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    result.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

void checked(std::string_view line, const ConvProblem& problem) {
  if (auto fault = validate(problem)) fail(line, *fault);
}

// A field that key=value sets: a number, or a pair of them.
struct Field {
  std::string_view key;
  std::variant<int64_t ConvProblem::*, Extent2 ConvProblem::*> member;
};
constexpr Field kFields[] = {{"n", &ConvProblem::batch},      {"c", &ConvProblem::in_channels},
                             {"hw", &ConvProblem::input},     {"k", &ConvProblem::out_channels},
                             {"rs", &ConvProblem::filter},    {"stride", &ConvProblem::stride},
                             {"pad", &ConvProblem::pad},      {"dilation", &ConvProblem::dilation},
                             {"groups", &ConvProblem::groups}};

// False where `text` is not such a value.
bool set_field(ConvProblem& problem, const Field& field, std::string_view text) {
  const auto set = [](auto& member, const auto& value) {
    if (value) member = *value;
    return value.has_value();
  };
  if (const auto* number = std::get_if<int64_t ConvProblem::*>(&field.member))
    return set(problem.**number, whole_number(text));
  return set(problem.*std::get<Extent2 ConvProblem::*>(field.member), extent(text));
}

ConvProblem parse_line(std::string_view line) {
  ConvProblem problem;
  std::vector<std::string_view> seen;
  const auto is_given = [&](std::string_view key) { return std::ranges::find(seen, key) != seen.end(); };
  for (std::string_view word : words(line)) {
    const size_t equals = word.find('=');
    const auto take = [&](std::string_view key) {
      if (is_given(key)) fail(line, "\"" + std::string(key) + "\" is given twice");
      seen.push_back(key);
    };
    if (equals == std::string_view::npos) {
      if (auto pass = from_name(kPasses, word)) {
        take("pass");
        problem.pass = *pass;
      } else if (auto math = from_name(kMathModes, word)) {
        take("math mode");
        problem.math = *math;
      } else if (auto layout = from_name(kLayouts, word)) {
        take("layout");
        problem.layout = *layout;
      } else {
        fail(line,
             "\"" + std::string(word) +
                 "\" is neither a pass (forward, backward_data, backward_filter), a math mode (fp32, tf32, "
                 "3xtf32, bf16, fp16), a layout (nchw, nhwc, chwn) nor key=value");
      }
      continue;
    }
    const std::string_view key = word.substr(0, equals);
    const auto* field = std::ranges::find(kFields, key, &Field::key);
    if (field == std::end(kFields) && key != "epilogue")
      fail(line, "unknown key \"" + std::string(key) +
                     "\"; allowed are n, c, hw, k, rs, stride, pad, dilation, groups, epilogue");
    take(key);
    if (key == "epilogue") {
      const auto epilogue = from_name(kEpilogues, word.substr(equals + 1));
      if (!epilogue)
        fail(line, "\"" + std::string(word) + "\" is none of epilogue=none, relu, bias and bias+relu");
      problem.epilogue = *epilogue;
      continue;
    }
    if (!set_field(problem, *field, word.substr(equals + 1)))
      fail(line, "\"" + std::string(word) + "\" has no whole number, or pair of them as in 3x3, after the =");
  }
  for (std::string_view needed : {"n", "c", "hw", "k", "rs"})
    if (!is_given(needed)) fail(line, "\"" + std::string(needed) + "=\" is missing");
  checked(line, problem);
  return problem;
}

}  // namespace

std::string to_text(Extent2 extent) {
  return std::to_string(extent.h) + "x" + std::to_string(extent.w);
}

std::string extent_text(Extent2 extent) {
  return extent.h == extent.w ? std::to_string(extent.h) : to_text(extent);
}

std::string to_line(const ConvProblem& p) {
  std::string line(name(p.pass));
  line.append(" ").append(name(p.math)).append(" ").append(name(p.layout));
  line += " n=" + std::to_string(p.batch) + " c=" + std::to_string(p.in_channels) + " hw=" + to_text(p.input);
  line += " k=" + std::to_string(p.out_channels) + " rs=" + to_text(p.filter);
  line += " stride=" + to_text(p.stride) + " pad=" + to_text(p.pad) + " dilation=" + to_text(p.dilation);
  line += " groups=" + std::to_string(p.groups);
  if (p.epilogue != Epilogue::none) line.append(" epilogue=").append(name(p.epilogue));
  return line;
}

ConvProblem parse_problem(std::string_view line) {
  const auto parts = words(line);
  if (parts.empty()) fail(line, "it is empty");
  const bool one_word = parts.size() == 1 && parts[0].find('=') == std::string_view::npos;
  return one_word ? parse_benchdnn(parts[0]) : parse_line(line);
}

std::string to_benchdnn(const ConvProblem& p) {
  // benchdnn copies a height to the width that is not written, so square dimensions are written once.
  const Extent2 out = p.output();
  const bool square = p.input.h == p.input.w && out.h == out.w && p.filter.h == p.filter.w &&
                      p.stride.h == p.stride.w && p.pad.h == p.pad.w && p.dilation.h == p.dilation.w;
  std::string text;
  if (p.groups != 1) text += "g" + std::to_string(p.groups);
  text += "mb" + std::to_string(p.batch);
  const auto add = [&](std::string_view key, int64_t value) {
    text.append(key).append(std::to_string(value));
  };
  add("ic", p.in_channels);
  add("ih", p.input.h);
  if (!square) add("iw", p.input.w);
  add("oc", p.out_channels);
  add("oh", out.h);
  if (!square) add("ow", out.w);
  add("kh", p.filter.h);
  if (!square) add("kw", p.filter.w);
  const auto optional_pair = [&](std::string_view h_key, std::string_view w_key, Extent2 value,
                                 int64_t standard) {
    if (value == Extent2{standard, standard}) return;
    add(h_key, value.h);
    if (!square) add(w_key, value.w);
  };
  optional_pair("sh", "sw", p.stride, 1);
  optional_pair("ph", "pw", p.pad, 0);
  optional_pair("dh", "dw", {p.dilation.h - 1, p.dilation.w - 1}, 0);
  return text;
}

namespace {

// The padding on each side that gives `output`, as benchdnn derives it where the descriptor has none.
int64_t derived_pad(std::string_view text, std::string_view axis, int64_t input, int64_t output,
                    int64_t filter, int64_t stride, int64_t dilation) {
  const int64_t both_sides = (output - 1) * stride + (filter - 1) * dilation + 1 - input;
  if (both_sides <= 0) return 0;
  if (both_sides % 2 != 0)
    fail(text, "an output " + std::string(axis) + " of " + std::to_string(output) + " needs " +
                   std::to_string(both_sides) +
                   " rows or columns of padding, one more on one side than on the other; asymmetric padding "
                   "is not supported");
  return both_sides / 2;
}

constexpr std::string_view kBenchdnnKeys[] = {"g",  "mb", "ic", "ih", "iw", "oc", "oh", "ow",
                                              "kh", "kw", "sh", "sw", "ph", "pw", "dh", "dw"};
using BenchdnnFields = std::map<std::string_view, int64_t>;

// The numbers of a descriptor by their keys; the last one counts where a key comes twice.
BenchdnnFields benchdnn_fields(std::string_view text) {
  constexpr std::string_view all_digits = "0123456789";
  BenchdnnFields fields;
  for (std::string_view rest = text; !rest.empty();) {
    if (rest[0] == '_') {  // a separator
      rest.remove_prefix(1);
      continue;
    }
    if (rest[0] == 'n' && rest.find_first_of(all_digits) != 1)
      break;  // the problem's name ends the descriptor
    const size_t digits = std::min(rest.find_first_of(all_digits), rest.size());
    const size_t end = std::min(rest.find_first_not_of(all_digits, digits), rest.size());
    const std::string_view key = rest.substr(0, digits);
    const auto value = whole_number(rest.substr(digits, end - digits));
    if (!value || std::ranges::find(kBenchdnnKeys, key) == std::end(kBenchdnnKeys))
      fail(text,
           "\"" + std::string(rest) +
               "\" does not start with a benchdnn field: g, mb, ic, ih, iw, oc, oh, ow, kh, kw, sh, sw, ph, "
               "pw, dh or dw with a number");
    if (*value > kLargestSize)
      fail(text, std::string(key) + " is " + std::to_string(*value) + "; allowed is at most " +
                     std::to_string(kLargestSize));
    fields[key] = *value;
    rest.remove_prefix(end);
  }
  return fields;
}

}  // namespace

ConvProblem parse_benchdnn(std::string_view text) {
  const BenchdnnFields fields = benchdnn_fields(text);
  const auto given = [&](std::string_view key) { return fields.contains(key); };
  const auto value = [&](std::string_view key, int64_t standard) {
    const auto found = fields.find(key);
    return found == fields.end() ? standard : found->second;
  };
  // One that is not written is the other.
  const auto both = [&](std::string_view h, std::string_view w, int64_t standard) {
    return Extent2{value(h, value(w, standard)), value(w, value(h, standard))};
  };
  if (!given("ic") || !given("oc") || (!given("ih") && !given("iw")) || (!given("kh") && !given("kw")))
    fail(text, "a benchdnn descriptor needs ic, ih, oc and kh");
  ConvProblem p;
  p.groups = value("g", 1);
  p.batch = value("mb", 1);
  p.in_channels = value("ic", 1);
  p.out_channels = value("oc", 1);
  p.input = both("ih", "iw", 1);
  p.filter = both("kh", "kw", 1);
  p.stride = both("sh", "sw", 1);
  const Extent2 counted_from_zero = both("dh", "dw", 0), written = both("oh", "ow", 0);
  p.dilation = {counted_from_zero.h + 1, counted_from_zero.w + 1};
  p.pad = both("ph", "pw", 0);
  const bool has_output = given("oh") || given("ow");
  if (!given("ph") && !given("pw") && has_output)
    p.pad = {derived_pad(text, "height", p.input.h, written.h, p.filter.h, p.stride.h, p.dilation.h),
             derived_pad(text, "width", p.input.w, written.w, p.filter.w, p.stride.w, p.dilation.w)};
  checked(text, p);
  const Extent2 out = p.output();
  if (has_output && written != out)
    fail(text, "the output is " + to_text(out) + " with a symmetric padding of " + to_text(p.pad) + ", not " +
                   to_text(written) + "; asymmetric padding is not supported");
  return p;
}

}  // namespace convscope
