// Rows of step as tables for a terminal, and a step's schedule as a trace for Chrome's viewer.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bench/parallel/schedule/step_row.hpp"
#include "bench/report/format.hpp"

namespace convscope {

// The tables `scaling` (every row), `overlap` (rows that differ in it alone, side by side) and `compression`
// (likewise; only where there are rows of both kinds), each with the model's error where it is modelled, then
// what was refused and the commands that measure missing rows.
void print_steps(std::ostream& out, std::span<const StepRow> rows, const Look& look);

// The trace event format: a process for each row, in it a thread for compute and one for communication; times
// in microseconds. Of rows with a time.
nlohmann::ordered_json chrome_trace(std::span<const StepRow> rows);

// docs/step_format.md: the columns of allreduce.csv and steps.csv.
std::string step_format_markdown();

}  // namespace convscope
