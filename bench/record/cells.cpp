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
  struct Visitor {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
}

nlohmann::ordered_json cell_json(const Cell& cell) {
  struct Visitor {
    nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
    nlohmann::ordered_json operator()(bool value) const { return value; }
    nlohmann::ordered_json operator()(int64_t value) const { return value; }
    nlohmann::ordered_json operator()(double value) const { return value; }
    nlohmann::ordered_json operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
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
