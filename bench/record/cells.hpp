// Cells and the columns that they stand in, for rows of any type. A table of columns is an array of
// ColumnOf<Row>; CSV, JSON and documentation of such rows are all made from it. The columns of results.csv
// are columns.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace convscope {

using Cell =
    std::variant<std::monostate, bool, int64_t, double, std::string>;  // monostate: null, an empty CSV cell

template <typename Row>
struct ColumnOf {
  std::string_view name;     // snake_case, unit at the end where there is one: full_median_ms
  std::string_view unit;     // "ms", "GFLOP/s", "bytes", "" for none
  std::string_view meaning;  // one sentence
  Cell (*cell)(const Row&);
};

// The cell of a value: null for no text, a number that is not finite, and nothing.
template <typename T>
Cell cell(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(name(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int64_t>(value);
  else if constexpr (std::is_floating_point_v<T>)
    return std::isfinite(value) ? Cell{value} : Cell{};
  else
    return value.empty() ? Cell{} : Cell{std::string(value)};
}
template <typename T>
Cell cell(const std::optional<T>& value) {
  return value ? cell(*value) : Cell{};
}

// A cell as CSV and console write it, before any quoting: "" for null, true or false, the shortest digits
// that read back to the same number.
std::string cell_text(const Cell& cell);
nlohmann::ordered_json cell_json(const Cell& cell);

// Quoted as RFC 4180 says, with \n at the end.
void write_csv_line(std::ostream& out, std::span<const std::string> fields);

// Rows as comma-separated values: a line of the columns' names, then one per row in their order. Null is
// empty.
template <typename Row>
void write_csv(std::ostream& out, std::span<const ColumnOf<Row>> columns, std::span<const Row> rows) {
  std::vector<std::string> fields;
  for (const ColumnOf<Row>& column : columns) fields.emplace_back(column.name);
  write_csv_line(out, fields);
  for (const Row& row : rows) {
    fields.clear();
    for (const ColumnOf<Row>& column : columns) fields.push_back(cell_text(column.cell(row)));
    write_csv_line(out, fields);
  }
}

// The row as an object with the columns' names.
template <typename Row>
nlohmann::ordered_json row_json(std::span<const ColumnOf<Row>> columns, const Row& row) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const ColumnOf<Row>& column : columns) json[std::string(column.name)] = cell_json(column.cell(row));
  return json;
}

// The columns as a table in Markdown: name, unit, meaning.
template <typename Row>
std::string columns_markdown(std::span<const ColumnOf<Row>> columns) {
  std::string text = "| column | unit | meaning |\n|---|---|---|\n";
  for (const ColumnOf<Row>& column : columns) {
    text.append("| `").append(column.name).append("` | ").append(column.unit).append(" | ");
    for (char c : column.meaning) text.append(c == '|' ? "\\|" : std::string(1, c));
    text += " |\n";
  }
  return text;
}

}  // namespace convscope
