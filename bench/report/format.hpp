// Numbers, problems and tables as a person reads them: "14.3 GFLOP", "3.0 MiB", "54.21", "N16 C96 27x27 ->
// K256 5x5 pad 2". For terminals and sentences only; files hold exact values (bench/record/columns).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// Four significant digits, but at most four decimals; or as many decimals as `like` would get, so that an
// interval lines up with its median.
std::string milliseconds_text(double seconds);
std::string milliseconds_text(double seconds, double like);

// "14.3 GFLOP"; 0 is "0 FLOP".
std::string flops_text(double flops);
// "12.3%"
std::string percent_text(double share);
// "45 s", "3m05s", "2h10m".
std::string duration_text(double seconds);

// Batch, channels, image, filter; then stride, pad, dilation and groups where they are not 1, 0, 1 and 1.
std::string problem_words(const ConvProblem& problem);

// The device's own name, the class of machine where it is known, and which of its kind where it is not the
// first: "<processor> (<class>, cuda:1)".
std::string device_text(const CaseKey& key, const DeviceInfo& device);

// "fp32 nchw, 2 threads, cold cache, workspace up to 256.0 MiB, <processor>", the cap where it is wanted.
std::string circumstances(const CaseKey& key, const DeviceInfo& device, bool with_cap = true);

// The algorithm's id, with "(throttled)" or "(disturbed)" behind it where the record was.
std::string marked_name(const ResultRecord& record);

// How many times as fast as the other a record is: "1.51x", or "1.51x?" where one of the two is suspect, its
// time too long.
std::string speed_up_text(const ResultRecord& record, const ResultRecord& other);
bool is_suspect_ratio(const ResultRecord& record, const ResultRecord& other);
inline constexpr std::string_view kSuspectSpeedUp =
    "? behind a ratio: one of the two was throttled or disturbed, its time too long";
// What a column against this baseline is called: its library, "onednn" where there is no baseline.
std::string baseline_name(const ResultRecord* baseline);

// A cell of a table without anything to show.
inline constexpr const char* kDash = "-";

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

// How text is shown: with colours or without, and how many columns a line has.
struct Look {
  Look(bool in_colour = false, size_t line_columns = 80) : coloured(in_colour), columns(line_columns) {}
  bool coloured;
  size_t columns;
};

// The columns that UTF-8 takes, where each of its characters takes one.
size_t columns_of(std::string_view text);

// `text` in lines of at most `columns` behind `indent`, broken between words; a longer word has its own line.
// All lines but the first begin with `hanging` in its place.
std::string wrapped(std::string_view text, size_t columns, std::string_view indent, std::string_view hanging);
inline std::string wrapped(std::string_view text, size_t columns, std::string_view indent) {
  return wrapped(text, columns, indent, indent);
}

// The text on one line: a library's words may be of several.
std::string one_line(std::string_view text);

// A note below a table, wrapped.
void print_note(std::ostream& out, std::string_view text, const Look& look,
                std::string_view paint = colour::none);

// A table that fits its line: where it does not, its headings become short, then columns are left out, those
// that may be and in the order given. No cell is ever cut.
class TextTable {
 public:
  // A heading that starts with '<' is of a column aligned to the left, with '>' to the right, with '=' of one
  // of text, which is wrapped where it is long. Behind a '|' stands the heading's short form.
  explicit TextTable(std::vector<std::string> headings, std::vector<size_t> may_be_left_out = {});
  // One cell a heading; `mark` stands before the row.
  void add(std::vector<std::string> cells, char mark = ' ', std::string_view row_colour = colour::none);
  bool empty() const { return rows_.empty(); }
  // Two spaces between columns and no spaces at line ends. Returns the headings left out.
  std::vector<std::string> print(std::ostream& out, const Look& look) const;

 private:
  enum class Kind { left, right, text };
  struct Column {
    std::string heading, short_heading;
    Kind kind;
    size_t width = 0;  // of the cells
    bool shown = true;
  };
  struct Row {
    std::vector<std::string> cells;
    char mark;
    std::string_view row_colour;
  };
  static size_t line_width(const std::vector<Column>& columns);
  static void print_row(std::ostream& out, const std::vector<Column>& columns, const Row& row,
                        const Look& look);
  // The columns as they are printed: headings and widths chosen for lines of so many columns.
  std::vector<Column> fitted(size_t columns) const;

  std::vector<Column> columns_;
  std::vector<size_t> may_be_left_out_;
  std::vector<Row> rows_;
};

// "  left out to fit 80 columns: workspace, error (COLUMNS=120 shows more)\n", or nothing where nothing was.
std::string left_out_text(const std::vector<std::string>& headings, const Look& look);

// A title, and below it, wrapped, what it stands above: circumstances, nearly always. No line for nothing.
void print_heading(std::ostream& out, std::string_view title, std::string_view below, const Look& look);

}  // namespace convscope
