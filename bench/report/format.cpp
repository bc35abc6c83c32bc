#include "bench/report/format.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <utility>

#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

// `value` in the first unit that it is under `step` of.
template <size_t N>
std::string in_units(double value, double step, const char* const (&units)[N]) {
  size_t unit = 0;
  while (unit + 1 < N && value >= step) {
    value /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", value, units[0]) : fmt::format("{:.1f} {}", value, units[unit]);
}

// "5", or "5x3" where height and width differ.
std::string extent_text(Extent2 extent) {
  return extent.h == extent.w ? fmt::format("{}", extent.h) : fmt::format("{}x{}", extent.h, extent.w);
}

// An id with a part between two dots that is a number: before it, the number, and behind.
struct NumberedId {
  std::string_view before, behind;
  int64_t number = -1;  // -1: it has none
};

NumberedId numbered(std::string_view id) {
  for (size_t begin = id.find('.'); begin != std::string_view::npos; begin = id.find('.', begin + 1)) {
    const size_t end = std::min(id.find('.', begin + 1), id.size());
    int64_t number = -1;
    const auto read = std::from_chars(id.data() + begin + 1, id.data() + end, number);
    if (read.ec == std::errc() && read.ptr == id.data() + end)
      return {id.substr(0, begin + 1), id.substr(end), number};
  }
  return {};
}

}  // namespace

std::string milliseconds_text(double seconds) {
  return milliseconds_text(seconds, seconds);
}

std::string milliseconds_text(double seconds, double like) {
  const double size = 1e3 * std::abs(like);
  const int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  return fmt::format("{:.{}f}", 1e3 * seconds, decimals);
}

std::string flops_text(double flops) {
  static constexpr const char* units[] = {"FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  return in_units(flops, 1000, units);
}

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return in_units(bytes, 1024, units);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string problem_words(const ConvProblem& p) {
  std::string words = fmt::format("N{} C{} {}x{} -> K{} {}x{}", p.batch, p.in_channels, p.input.h, p.input.w,
                                  p.out_channels, p.filter.h, p.filter.w);
  if (p.stride != Extent2{1, 1}) words += " stride " + extent_text(p.stride);
  if (p.pad != Extent2{0, 0}) words += " pad " + extent_text(p.pad);
  if (p.dilation != Extent2{1, 1}) words += " dilation " + extent_text(p.dilation);
  if (p.groups != 1) words += fmt::format(" groups {}", p.groups);
  return words;
}

std::string device_text(const CaseKey& key, const DeviceInfo& device) {
  if (device.name.empty()) return name(key.device_id());
  return key.device_index == 0 ? device.name : fmt::format("{} ({})", device.name, name(key.device_id()));
}

std::string circumstances(const CaseKey& key, const DeviceInfo& device, bool with_cap) {
  const std::string cap =
      key.workspace_cap ? "workspace up to " + bytes_text(*key.workspace_cap) : "any workspace";
  return fmt::format("{} {}, {} thread{}, {} cache, {}{}", name(key.problem.math), name(key.problem.layout),
                     key.threads, key.threads == 1 ? "" : "s", name(key.cache), with_cap ? cap + ", " : "",
                     device_text(key, device));
}

std::string marked_name(const ResultRecord& record) {
  return is_suspect(record) ? fmt::format("{} ({})", record.key.algorithm, name(standing_of(record)))
                            : record.key.algorithm;
}

std::string baseline_name(const ResultRecord* baseline) {
  return baseline == nullptr ? "onednn" : baseline->algorithm.provider;
}

std::string comma_list(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> shortened(const std::vector<std::string>& ids) {
  std::vector<std::string> result;
  for (size_t begin = 0, end; begin < ids.size(); begin = end) {
    const NumberedId first = numbered(ids[begin]);
    const auto follows = [&](size_t i) {
      const NumberedId next = numbered(ids[i]);
      return first.number >= 0 && next.before == first.before && next.behind == first.behind &&
             next.number == first.number + static_cast<int64_t>(i - begin);
    };
    end = begin + 1;
    while (end < ids.size() && follows(end)) ++end;
    if (end - begin < 3) {
      result.insert(result.end(), ids.begin() + static_cast<ptrdiff_t>(begin),
                    ids.begin() + static_cast<ptrdiff_t>(end));
      continue;
    }
    result.push_back(fmt::format("{}{{{}..{}}}{}", first.before, first.number, numbered(ids[end - 1]).number,
                                 first.behind));
  }
  return result;
}

TextTable::TextTable(std::vector<std::string> headings) : width_(headings.size()) {
  for (std::string& heading : headings) {
    to_the_right_.push_back(heading[0] == '>');
    heading.erase(0, 1);
  }
  add(std::move(headings), ' ', colour::heading);
}

void TextTable::add(std::vector<std::string> cells, char mark, std::string_view row_colour) {
  for (size_t i = 0; i < width_.size(); ++i) width_[i] = std::max(width_[i], cells.at(i).size());
  rows_.push_back({std::move(cells), mark, row_colour});
}

void TextTable::print(std::ostream& out, bool coloured) const {
  for (const Row& row : rows_) {
    std::string line(1, row.mark);
    for (size_t i = 0; i < width_.size(); ++i) {
      const std::string padding(width_[i] - row.cells[i].size(), ' ');
      line += i == 0 ? " " : "  ";
      line += to_the_right_[i] ? padding + row.cells[i] : row.cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const bool in_colour = coloured && !row.row_colour.empty();
    if (in_colour) out << row.row_colour;
    out << line;
    if (in_colour) out << colour::reset;
    out << '\n';
  }
}

void print_heading(std::ostream& out, std::string_view title, std::string_view below, bool coloured) {
  fmt::print(out, "{}{}{}\n  {}\n", coloured ? colour::heading : "", title, coloured ? colour::reset : "",
             below);
}

}  // namespace convscope
