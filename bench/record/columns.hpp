// The one column table: CSV, console, JSON documentation and docs/results_format.md are all made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "bench/record/result.hpp"

namespace convscope {

using Cell =
    std::variant<std::monostate, bool, int64_t, double, std::string>;  // monostate: null, an empty CSV cell

struct Column {
  std::string_view name;     // snake_case, unit at the end where there is one: full_median_ms
  std::string_view unit;     // "ms", "GFLOP/s", "bytes", "" for none
  std::string_view meaning;  // one sentence
  Cell (*cell)(const ResultRecord&);
};

std::span<const Column> columns();

// A cell as CSV and console write it, before any quoting: "" for null, true or false, the shortest digits
// that read back to the same number.
std::string cell_text(const Cell& cell);

// docs/results_format.md, made from the code so that it cannot drift: the columns from the table, the JSON
// fields from what to_json() writes.
std::string results_format_markdown();

}  // namespace convscope
