#include "bench/report/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "bench/report/format.hpp"

namespace convscope {

std::string progress_text(const ProgressState& state) {
  std::string text = fmt::format("[{}/{}]", state.done, state.total);
  for (const std::string* word : {&state.layer, &state.pass, &state.algorithm})
    if (!word->empty()) text += " " + *word;
  text += ", " + duration_text(state.elapsed_seconds);
  if (state.done > 0 && state.done < state.total) {
    const double each = state.elapsed_seconds / static_cast<double>(state.done);
    text += ", about " + duration_text(each * static_cast<double>(state.total - state.done)) + " left";
  }
  return text;
}

Progress::Progress(std::ostream& out, bool enabled, size_t terminal_columns)
    : out_(out), enabled_(enabled), terminal_columns_(std::max<size_t>(terminal_columns, 2)) {}

void Progress::update(const ProgressState& state) {
  if (!enabled_) return;
  out_ << "\r\033[K" << progress_text(state).substr(0, terminal_columns_ - 1) << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  out_ << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace convscope
