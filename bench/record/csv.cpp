#include "bench/record/csv.hpp"

#include <ostream>

#include "bench/record/columns.hpp"

namespace convscope {
namespace {

void write_field(std::ostream& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out << text;
    return;
  }
  out << '"';
  for (char c : text) {
    if (c == '"') out << '"';
    out << c;
  }
  out << '"';
}

}  // namespace

void write_csv(std::ostream& out, std::span<const ResultRecord> records) {
  const char* separator = "";
  for (const Column& column : columns()) {
    out << separator << column.name;
    separator = ",";
  }
  out << '\n';
  for (const ResultRecord& record : records) {
    separator = "";
    for (const Column& column : columns()) {
      out << separator;
      write_field(out, cell_text(column.cell(record)));
      separator = ",";
    }
    out << '\n';
  }
}

}  // namespace convscope
