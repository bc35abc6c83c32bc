// A training step that was run, as tables for a terminal and as a trace for Chrome's viewer.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "bench/report/format.hpp"
#include "bench/step/task_row.hpp"

namespace convscope {

// Three parts: the convolutions inside the step beside the same alone; everything else with its share of the
// memory bandwidth; the sums, and what they say. The rows are those of task_rows().
void print_step(std::ostream& out, std::span<const TaskRow> rows, const Look& look);

// The trace event format: the tasks at their medians, one after the other, in microseconds.
nlohmann::ordered_json chrome_trace(std::span<const TaskRow> rows);

}  // namespace convscope
