// Rows of allreduce and step as tables for a terminal, and a step's schedule as a trace for Chrome's viewer.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bench/parallel/reduction_row.hpp"
#include "bench/parallel/step_row.hpp"
#include "bench/report/format.hpp"

namespace convscope {

// "modelled, closed form; link 5 GB/s, 5 us", "modelled, simgrid (SimGrid 3.32); platform cluster.xml"
std::string words_of(const Fleet& fleet);

// A sentence where so many samples of measured rows were disturbed.
void print_disturbed(std::ostream& out, int64_t samples, const Look& look);

// A table for each fleet: bytes, reduction, time and its interval, algbw, busbw, verification, and of a
// modelled one the model's error (model_error.hpp); below them what was refused or wrong, and why.
void print_reductions(std::ostream& out, std::span<const ReductionRow> rows, const Look& look);

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
