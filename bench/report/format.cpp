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

std::string percent_text(double share) {
  return fmt::format("{:.1f}%", 100 * share);
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
  std::vector<std::string> more;
  if (!device.machine_class.empty()) more.push_back(device.machine_class);
  if (key.device_index > 0) more.push_back(name(key.device_id()));
  return more.empty() ? device.name : fmt::format("{} ({})", device.name, comma_list(more));
}

std::string circumstances(const CaseKey& key, const DeviceInfo& device, bool with_cap) {
  const std::string cap =
      key.workspace_cap ? "workspace up to " + bytes_text(*key.workspace_cap) : "any workspace";
  const std::string epilogue =
      key.problem.epilogue == Epilogue::none ? "" : fmt::format(" with {}", name(key.problem.epilogue));
  return fmt::format("{} {}{}, {}, {} cache, {}{}", name(key.problem.math), name(key.problem.layout),
                     epilogue, counted(key.threads, "thread"), name(key.cache), with_cap ? cap + ", " : "",
                     device_text(key, device));
}

std::string marked_name(const ResultRecord& record) {
  return is_suspect(record) ? fmt::format("{} ({})", record.key.algorithm, name(standing_of(record)))
                            : record.key.algorithm;
}

std::string speed_up_text(const ResultRecord& record, const ResultRecord& other) {
  return fmt::format("{:.2f}x{}", median_seconds(other) / median_seconds(record),
                     is_suspect_ratio(record, other) ? "?" : "");
}

bool is_suspect_ratio(const ResultRecord& record, const ResultRecord& other) {
  return is_suspect(record) || is_suspect(other);
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

size_t columns_of(std::string_view text) {
  const auto begins_one = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  return static_cast<size_t>(std::ranges::count_if(text, begins_one));
}

std::string wrapped(std::string_view text, size_t columns, std::string_view indent,
                    std::string_view hanging) {
  std::string lines, line;
  std::string_view before = indent;  // the line
  const auto end_line = [&] {
    lines.append(lines.empty() ? "" : "\n").append(before).append(line);
    line.clear();
    before = hanging;
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!line.empty() && columns_of(before) + columns_of(line) + 1 + columns_of(word) > columns) end_line();
    line.append(line.empty() ? "" : " ").append(word);
    begin = end + 1;
  }
  end_line();
  return lines;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

void print_note(std::ostream& out, std::string_view text, const Look& look, std::string_view paint) {
  const bool in_colour = look.coloured && !paint.empty();
  fmt::print(out, "{}{}{}\n", in_colour ? paint : "", wrapped(one_line(text), look.columns, "  ", "    "),
             in_colour ? colour::reset : "");
}

TextTable::TextTable(std::vector<std::string> headings, std::vector<size_t> may_be_left_out)
    : may_be_left_out_(std::move(may_be_left_out)) {
  for (const std::string& heading : headings) {
    const size_t bar = heading.find('|');
    Column column;
    column.kind = heading[0] == '>' ? Kind::right : heading[0] == '=' ? Kind::text : Kind::left;
    column.heading = heading.substr(1, bar - 1);
    column.short_heading = bar == std::string::npos ? column.heading : heading.substr(bar + 1);
    columns_.push_back(column);
  }
}

void TextTable::add(std::vector<std::string> cells, char mark, std::string_view row_colour) {
  for (size_t i = 0; i < columns_.size(); ++i)
    columns_[i].width = std::max(columns_[i].width, columns_of(cells.at(i)));
  rows_.push_back({std::move(cells), mark, row_colour});
}

size_t TextTable::line_width(const std::vector<Column>& columns) {
  size_t width = 0;
  for (const Column& column : columns)
    if (column.shown) width += 2 + column.width;
  return width;
}

std::vector<TextTable::Column> TextTable::fitted(size_t columns) const {
  constexpr size_t kNarrowestText = 20;
  std::vector<Column> result = columns_;
  const auto choose_headings = [&](std::string Column::*form) {
    for (size_t i = 0; i < result.size(); ++i) {
      result[i].heading = columns_[i].*form;
      const bool wraps = result[i].kind == Kind::text && columns_[i].width > kNarrowestText;
      result[i].width = std::max(wraps ? kNarrowestText : columns_[i].width, columns_of(result[i].heading));
    }
  };
  choose_headings(&Column::heading);
  if (line_width(result) > columns) choose_headings(&Column::short_heading);
  for (size_t column : may_be_left_out_)
    if (line_width(result) > columns) result.at(column).shown = false;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i].kind != Kind::text) continue;
    const size_t used = line_width(result);
    const size_t left = columns > used ? columns - used : 0;
    result[i].width = std::max(result[i].width, std::min(columns_[i].width, result[i].width + left));
  }
  return result;
}

void TextTable::print_row(std::ostream& out, const std::vector<Column>& columns, const Row& row,
                          const Look& look) {
  std::vector<std::vector<std::string>> lines_of(columns.size());  // of each cell
  size_t height = 1;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].shown) continue;
    std::string cell = row.cells[i];
    if (columns[i].kind == Kind::text) cell = wrapped(cell, columns[i].width, "");
    for (size_t begin = 0; begin <= cell.size();) {
      const size_t end = std::min(cell.find('\n', begin), cell.size());
      lines_of[i].push_back(cell.substr(begin, end - begin));
      begin = end + 1;
    }
    height = std::max(height, lines_of[i].size());
  }
  for (size_t l = 0; l < height; ++l) {
    std::string line(1, l == 0 ? row.mark : ' ');
    bool first = true;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].shown) continue;
      const std::string cell = l < lines_of[i].size() ? lines_of[i][l] : "";
      const std::string padding(columns[i].width - std::min(columns[i].width, columns_of(cell)), ' ');
      line += first ? " " : "  ";
      line += columns[i].kind == Kind::right ? padding + cell : cell + padding;
      first = false;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const bool in_colour = look.coloured && !row.row_colour.empty();
    if (in_colour) out << row.row_colour;
    out << line;
    if (in_colour) out << colour::reset;
    out << '\n';
  }
}

std::vector<std::string> TextTable::print(std::ostream& out, const Look& look) const {
  const std::vector<Column> columns = fitted(look.columns);
  Row headings{{}, ' ', colour::heading};
  std::vector<std::string> left_out;
  for (size_t i = 0; i < columns.size(); ++i) {
    headings.cells.push_back(columns[i].heading);
    if (!columns[i].shown) left_out.push_back(columns_[i].heading);
  }
  print_row(out, columns, headings, look);
  for (const Row& row : rows_) print_row(out, columns, row, look);
  return left_out;
}

std::string left_out_text(const std::vector<std::string>& headings, const Look& look) {
  if (headings.empty()) return "";
  return wrapped(fmt::format("left out to fit {} columns: {} (COLUMNS={} shows more)", look.columns,
                             comma_list(headings), look.columns + 40),
                 look.columns, "  ") +
         "\n";
}

void print_heading(std::ostream& out, std::string_view title, std::string_view below, const Look& look) {
  fmt::print(out, "{}{}{}\n", look.coloured ? colour::heading : "", title,
             look.coloured ? colour::reset : "");
  for (size_t begin = 0; begin < below.size();) {
    const size_t end = std::min(below.find('\n', begin), below.size());
    fmt::print(out, "{}\n", wrapped(below.substr(begin, end - begin), look.columns, "  "));
    begin = end + 1;
  }
}

}  // namespace convscope
