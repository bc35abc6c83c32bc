// The progress line: what runs now, for how long the sweep has run and how long it may still take. Drawn over
// itself on a terminal, not at all anywhere else. Not here: tables (console.hpp).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace convscope {

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

class Progress {
 public:
  // Does nothing unless `enabled`. Lines are cut to `terminal_columns` - 1, so that they never wrap.
  Progress(std::ostream& out, bool enabled, size_t terminal_columns = 80);
  void update(const ProgressState& state);
  // Takes the line away, before anything else is printed.
  void clear();

 private:
  std::ostream& out_;
  bool enabled_;
  size_t terminal_columns_;
  bool drawn_ = false;
};

}  // namespace convscope
