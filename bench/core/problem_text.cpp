// The two text forms of a ConvProblem: our one-line form and benchdnn's descriptor.
#include <charconv>
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

struct NumberField {
  std::string_view key;
  int64_t ConvProblem::*member;
};
struct ExtentField {
  std::string_view key;
  Extent2 ConvProblem::*member;
};
constexpr NumberField kNumberFields[] = {{"n", &ConvProblem::batch},
                                         {"c", &ConvProblem::in_channels},
                                         {"k", &ConvProblem::out_channels},
                                         {"groups", &ConvProblem::groups}};
constexpr ExtentField kExtentFields[] = {{"hw", &ConvProblem::input},
                                         {"rs", &ConvProblem::filter},
                                         {"stride", &ConvProblem::stride},
                                         {"pad", &ConvProblem::pad},
                                         {"dilation", &ConvProblem::dilation}};

bool set_field(ConvProblem& problem, std::string_view key, std::string_view value) {
  for (const auto& [name, member] : kNumberFields)
    if (name == key) {
      const auto number = whole_number(value);
      if (number) problem.*member = *number;
      return number.has_value();
    }
  for (const auto& [name, member] : kExtentFields)
    if (name == key) {
      const auto pair = extent(value);
      if (pair) problem.*member = *pair;
      return pair.has_value();
    }
  return false;
}

bool known_key(std::string_view key) {
  for (const auto& field : kNumberFields)
    if (field.key == key) return true;
  for (const auto& field : kExtentFields)
    if (field.key == key) return true;
  return false;
}

ConvProblem parse_line(std::string_view line) {
  ConvProblem problem;
  std::vector<std::string_view> seen;
  for (std::string_view word : words(line)) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      if (auto pass = pass_from_name(word))
        problem.pass = *pass;
      else if (auto math = math_from_name(word))
        problem.math = *math;
      else if (auto layout = layout_from_name(word))
        problem.layout = *layout;
      else
        fail(line,
             "\"" + std::string(word) +
                 "\" is neither a pass (forward, backward_data, backward_filter), a math mode (fp32, tf32, "
                 "3xtf32, bf16, fp16), a layout (nchw, nhwc, chwn) nor key=value");
      continue;
    }
    const std::string_view key = word.substr(0, equals);
    if (!known_key(key))
      fail(line, "unknown key \"" + std::string(key) +
                     "\"; allowed are n, c, hw, k, rs, stride, pad, dilation, groups");
    for (std::string_view earlier : seen)
      if (earlier == key) fail(line, "\"" + std::string(key) + "\" is given twice");
    seen.push_back(key);
    if (!set_field(problem, key, word.substr(equals + 1)))
      fail(line, "\"" + std::string(word) + "\" has no whole number, or pair of them as in 3x3, after the =");
  }
  for (std::string_view needed : {"n", "c", "hw", "k", "rs"}) {
    bool found = false;
    for (std::string_view key : seen) found = found || key == needed;
    if (!found) fail(line, "\"" + std::string(needed) + "=\" is missing");
  }
  checked(line, problem);
  return problem;
}

}  // namespace

std::string to_text(Extent2 extent) {
  return std::to_string(extent.h) + "x" + std::to_string(extent.w);
}

std::string to_line(const ConvProblem& p) {
  std::string line(name(p.pass));
  line.append(" ").append(name(p.math)).append(" ").append(name(p.layout));
  line += " n=" + std::to_string(p.batch) + " c=" + std::to_string(p.in_channels) + " hw=" + to_text(p.input);
  line += " k=" + std::to_string(p.out_channels) + " rs=" + to_text(p.filter);
  line += " stride=" + to_text(p.stride) + " pad=" + to_text(p.pad) + " dilation=" + to_text(p.dilation);
  line += " groups=" + std::to_string(p.groups);
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

}  // namespace

ConvProblem parse_benchdnn(std::string_view text) {
  ConvProblem p;
  std::optional<int64_t> ih, iw, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw, ic, oc;
  const struct {
    std::string_view key;
    std::optional<int64_t>* value;
  } fields[] = {{"ic", &ic}, {"ih", &ih}, {"iw", &iw}, {"oc", &oc}, {"oh", &oh}, {"ow", &ow}, {"kh", &kh},
                {"kw", &kw}, {"sh", &sh}, {"sw", &sw}, {"ph", &ph}, {"pw", &pw}, {"dh", &dh}, {"dw", &dw}};
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest[0] == '_') {  // a separator
      rest.remove_prefix(1);
      continue;
    }
    if (rest[0] == 'n' && rest.find_first_of("0123456789") != 1)
      break;  // the problem's name ends the descriptor
    const size_t digits = rest.find_first_of("0123456789");
    const size_t end =
        std::min(rest.find_first_not_of("0123456789", std::min(digits, rest.size())), rest.size());
    const std::string_view key = rest.substr(0, digits);
    const auto value =
        digits == std::string_view::npos ? std::nullopt : whole_number(rest.substr(digits, end - digits));
    bool known = value.has_value();
    if (known && key == "g")
      p.groups = *value;
    else if (known && key == "mb")
      p.batch = *value;
    else {
      known = false;
      for (const auto& field : fields)
        if (value && field.key == key) {
          *field.value = *value;
          known = true;
        }
    }
    if (!known)
      fail(text,
           "\"" + std::string(rest) +
               "\" does not start with a benchdnn field: g, mb, ic, ih, iw, oc, oh, ow, kh, kw, sh, sw, ph, "
               "pw, dh or dw with a number");
    if (*value > kLargestSize)
      fail(text, std::string(key) + " is " + std::to_string(*value) + "; allowed is at most " +
                     std::to_string(kLargestSize));
    rest.remove_prefix(end);
  }
  if (!ic || !oc || (!ih && !iw) || (!kh && !kw)) fail(text, "a benchdnn descriptor needs ic, ih, oc and kh");
  p.in_channels = *ic;
  p.out_channels = *oc;
  const auto both = [](std::optional<int64_t> h, std::optional<int64_t> w, int64_t standard) {
    return Extent2{h.value_or(w.value_or(standard)), w.value_or(h.value_or(standard))};
  };
  p.input = both(ih, iw, 1);
  p.filter = both(kh, kw, 1);
  p.stride = both(sh, sw, 1);
  const Extent2 counted_from_zero = both(dh, dw, 0);
  p.dilation = {counted_from_zero.h + 1, counted_from_zero.w + 1};
  p.pad = both(ph, pw, 0);
  const Extent2 written = both(oh, ow, 0);
  if (!ph && !pw && (oh || ow))
    p.pad = {derived_pad(text, "height", p.input.h, written.h, p.filter.h, p.stride.h, p.dilation.h),
             derived_pad(text, "width", p.input.w, written.w, p.filter.w, p.stride.w, p.dilation.w)};
  checked(text, p);
  const Extent2 out = p.output();
  if ((oh || ow) && written != out)
    fail(text, "the output is " + to_text(out) + " with a symmetric padding of " + to_text(p.pad) + ", not " +
                   to_text(written) + "; asymmetric padding is not supported");
  return p;
}

}  // namespace convscope
