// What the user reads on a terminal: one table per problem, and the network roll-up.
#pragma once

#include <iosfwd>
#include <span>

#include "bench/record/result.hpp"

namespace convscope {

struct ConsoleStyle {
  bool colour = false;
};

// A table for each contest of the records, of which a group has one: ranked ones with the winner marked,
// wrong ones, then refusals with their reason. Columns: algorithm, median and its interval, GFLOP/s
// (nominal), percent of the measured ceiling, workspace, error, speed against the contest's baseline (a dash
// when there is none).
void print_group(std::ostream& out, std::span<const ResultRecord> records, const ConsoleStyle& style);

// Per network, device, pass, batch, math, layout, threads, cache and cap: the sum over layers by count of the
// best record and of each single algorithm that covers every layer.
void print_roll_up(std::ostream& out, std::span<const ResultRecord> records, const ConsoleStyle& style);

}  // namespace convscope
