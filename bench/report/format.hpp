// Numbers, problems and tables as a person reads them: "14.3 GFLOP", "3.0 MiB", "54.21", "N16 C96 27x27 ->
// K256 5x5 pad 2". For terminals and sentences only; files hold exact values (bench/record/columns).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

// Four significant digits, or as many decimals as `like` would get, so that an interval lines up with its
// median.
std::string milliseconds_text(double seconds);
std::string milliseconds_text(double seconds, double like);

// "14.3 GFLOP"; 0 is "0 FLOP".
std::string flops_text(double flops);
// "3.0 MiB", "512 B".
std::string bytes_text(double bytes);
inline std::string bytes_text(int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}
// "45 s", "3m05s", "2h10m".
std::string duration_text(double seconds);

// Batch, channels, image, filter; then stride, pad, dilation and groups where they are not 1, 0, 1 and 1.
std::string problem_words(const ConvProblem& problem);

// The device's own name, and where it is not the first of its kind which one: "<processor> (cuda:1)".
std::string device_text(const CaseKey& key, const DeviceInfo& device);

// "fp32 nchw, 2 threads, cold cache, workspace up to 256.0 MiB, <processor>", the cap where it is wanted.
std::string circumstances(const CaseKey& key, const DeviceInfo& device, bool with_cap = true);

// The algorithm's id, with "(throttled)" or "(disturbed)" behind it where the record was.
std::string marked_name(const ResultRecord& record);
// What a column against this baseline is called: its library, "onednn" where there is no baseline.
std::string baseline_name(const ResultRecord* baseline);

// "a, b, c"
std::string comma_list(const std::vector<std::string>& words);

// Ids as a person reads many of them: three or more neighbours that differ in a part that is a number, which
// counts up by 1, become one, as "cudnn.engine.{0..127}.cuda".
std::vector<std::string> shortened(const std::vector<std::string>& ids);

// Terminal colours by what they say; "" prints plainly.
namespace colour {
inline constexpr std::string_view none = "";
inline constexpr std::string_view good = "\033[1;32m";
inline constexpr std::string_view bad = "\033[1;31m";
inline constexpr std::string_view quiet = "\033[2m";
inline constexpr std::string_view heading = "\033[1m";
inline constexpr std::string_view reset = "\033[0m";
}  // namespace colour

class TextTable {
 public:
  // A heading that starts with '<' is of a column aligned to the left, with '>' to the right.
  explicit TextTable(std::vector<std::string> headings);
  // One cell a heading; `mark` stands before the row.
  void add(std::vector<std::string> cells, char mark = ' ', std::string_view row_colour = colour::none);
  bool empty() const { return rows_.size() == 1; }
  // Two spaces between columns and no spaces at line ends. Colours are left out unless `coloured`.
  void print(std::ostream& out, bool coloured) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    char mark;
    std::string_view row_colour;
  };
  std::vector<bool> to_the_right_;
  std::vector<size_t> width_;
  std::vector<Row> rows_;  // the headings first
};

// A title, and on the next line what it stands above: circumstances, nearly always.
void print_heading(std::ostream& out, std::string_view title, std::string_view below, bool coloured);

}  // namespace convscope
