#include "bench/report/text_table.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace convscope {

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

}  // namespace convscope
