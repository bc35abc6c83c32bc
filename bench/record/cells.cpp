#include "bench/record/cells.hpp"

#include <fmt/format.h>

#include <ostream>

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

std::string cell_text(const Cell& cell) {
  const auto text = []<typename T>([[maybe_unused]] const T& value) -> std::string {
    if constexpr (std::is_same_v<T, std::monostate>)
      return "";
    else
      return fmt::format("{}", value);
  };
  return std::visit(text, cell);
}

nlohmann::ordered_json cell_json(const Cell& cell) {
  const auto json = []<typename T>([[maybe_unused]] const T& value) -> nlohmann::ordered_json {
    if constexpr (std::is_same_v<T, std::monostate>)
      return nullptr;
    else
      return value;
  };
  return std::visit(json, cell);
}

void write_csv_line(std::ostream& out, std::span<const std::string> fields) {
  const char* separator = "";
  for (const std::string& field : fields) {
    out << separator;
    write_field(out, field);
    separator = ",";
  }
  out << '\n';
}

}  // namespace convscope
