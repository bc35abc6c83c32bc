// What the user reads on a terminal: one table per problem, the network roll-up, and the progress line: what
// runs now, for how long the sweep has run and how long it may still take.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "bench/record/result.hpp"
#include "bench/report/format.hpp"

namespace convscope {

// A table for each contest of the records, of which a group has one: ranked ones with the winner marked,
// wrong ones, then refusals with their reason. Columns: algorithm, median and its interval, GFLOP/s
// (nominal), percent of the measured ceiling, workspace, error, speed against the contest's baseline (a dash
// when there is none); where nothing has a time only algorithm, workspace and error. In narrow lines the
// workspace, the ceiling and the error are left out, and named below.
void print_group(std::ostream& out, std::span<const ResultRecord> records, const Look& look);

// Per network, device, pass, batch, math, layout, threads, cache and cap: the sum over layers by count of the
// best record and of each single algorithm that covers every layer.
void print_roll_up(std::ostream& out, std::span<const ResultRecord> records, const Look& look);

// Series whose intervals may be wider tell apart less than what matters to most (`convscope-report compare`).
inline constexpr double kWideInterval = 0.05;

// The result in lines that can be quoted: for each network and set of circumstances who won how many layers,
// and the sum of the best of each layer against that of the best library; then whether the machine was quiet,
// and how wide the intervals may be where that is over kWideInterval.
// Nothing where no record can win.
void print_verdict(std::ostream& out, std::span<const ResultRecord> records, const Look& look);

// What stands below times of a device whose clock is virtual.
inline constexpr std::string_view kVirtualTime =
    "The device's time is virtual: no time above means anything, none may be published.\n";

struct ProgressState {
  std::string layer;
  std::string pass;
  std::string algorithm;
  size_t done = 0;   // steps finished; what a step is, is the caller's choice
  size_t total = 0;  // steps of the whole sweep
  double elapsed_seconds = 0;
};

// "[12/45] conv2 forward direct.cpu, 1m05s, about 3m00s left". The estimate takes the steps left to be as
// long as those done; it is left out while none is.
std::string progress_text(const ProgressState& state);

// Drawn over itself on a terminal, not at all anywhere else.
class Progress {
 public:
  // Does nothing unless `enabled`. Lines are cut to `terminal_columns` - 1, so that they never wrap.
  Progress(std::ostream& out, bool enabled, size_t terminal_columns = 80);
  void update(const ProgressState& state) { update(progress_text(state)); }
  void update(std::string_view text);
  // Takes the line away, before anything else is printed.
  void clear();

 private:
  std::ostream& out_;
  bool enabled_;
  size_t terminal_columns_;
  bool drawn_ = false;
};

}  // namespace convscope
