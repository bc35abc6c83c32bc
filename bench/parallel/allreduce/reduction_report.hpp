// Rows of allreduce as tables for a terminal, and what tables of all ranks' rows have in common.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "bench/parallel/allreduce/reduction_row.hpp"
#include "bench/report/format.hpp"

namespace convscope {

// "modelled, closed form; link 5 GB/s, 5 us", "modelled, simgrid (SimGrid 3.32); platform cluster.xml". Of
// links those that messages of these ranks take: within the node where there is one alone.
std::string words_of(const Fleet& fleet);

// A sentence where so many samples of measured rows were disturbed.
void print_disturbed(std::ostream& out, int64_t samples, const Look& look);

// A table for each fleet: bytes, reduction, time and its interval, algbw, busbw, verification, and of a
// modelled one the model's error (model_error.hpp); below them what was refused or failed, and why.
void print_reductions(std::ostream& out, std::span<const ReductionRow> rows, const Look& look);

}  // namespace convscope
