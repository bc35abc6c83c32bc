// The columns of results.csv: CSV, console, JSON documentation and docs/results_format.md are all made from
// this one table.
#pragma once

#include <span>
#include <string>

#include "bench/record/cells.hpp"
#include "bench/record/result.hpp"

namespace convscope {

using Column = ColumnOf<ResultRecord>;

std::span<const Column> columns();

// docs/results_format.md, made from the code so that it cannot drift: the columns from the table, the JSON
// fields from what to_json() writes.
std::string results_format_markdown();

}  // namespace convscope
