// A table of plain text with aligned columns, for terminals. Not here: what stands in the cells.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

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

}  // namespace convscope
