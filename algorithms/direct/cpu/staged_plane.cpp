#include "algorithms/direct/cpu/staged_plane.hpp"

#include <algorithm>

namespace convscope::direct {
namespace {

constexpr int64_t kMaxLanes = 16;  // of a kernel: rows begin and end with whole vectors

}  // namespace

StagedPlane::StagedPlane(const std::vector<Correlation>& correlations)
    : rows_(correlations.front().rows.extent),
      columns_(correlations.front().columns.extent),
      step_(correlations.front().columns.step) {
  int64_t right = round_up(ceil_div(columns_, step_), kMaxLanes);
  for (const Correlation& one : correlations)
    for (const Tap& tap : one.columns.taps) {
      const int64_t offset = floor_div(tap.offset, step_);
      left_ = std::max(left_, -offset);
      right = std::max(right, round_up(one.columns.count, kMaxLanes) + offset);
    }
  left_ = round_up(left_, kMaxLanes);
  width_ = left_ + round_up(right, kMaxLanes);
}

int64_t StagedPlane::column_offset(const Tap& tap) const {
  const int64_t column = floor_div(tap.offset, step_);
  return (tap.offset - column * step_) * width_ + column;
}

void StagedPlane::stage(const PlaneKernels& kernels, const float* from, Range rows, float* to) const {
  kernels.stage({from, rows_, columns_, rows.begin, rows.end, step_, to + left_, row_step(), width_});
}

TapRunList::TapRunList(const Correlation& correlation, const StagedPlane& staged, int64_t filter_columns) {
  std::vector<Tap> rows = correlation.rows.taps;
  std::sort(rows.begin(), rows.end(), [](const Tap& a, const Tap& b) { return a.offset < b.offset; });
  std::vector<std::vector<Tap>>
      runs;  // of row taps, each reading what the one before reads an output row later
  while (!rows.empty()) {
    std::vector<Tap> run;
    std::erase_if(rows, [&](const Tap& tap) {
      const bool next =
          run.empty() || (run.size() < 3 && tap.offset == run.back().offset + correlation.rows.step);
      if (next) run.push_back(tap);
      return next;
    });
    runs.push_back(std::move(run));
  }
  for (size_t size = 3; size > 0; --size)
    for (const std::vector<Tap>& taps : runs)
      for (const Tap& column : correlation.columns.taps) {
        if (taps.size() != size) continue;
        TapRun run;
        run.offset = taps.front().offset * staged.row_step() + staged.column_offset(column);
        for (size_t i = 0; i < size; ++i) run.weight[i] = taps[i].index * filter_columns + column.index;
        runs_.push_back(run);
        ++of_size_[size - 1];
      }
}

}  // namespace convscope::direct
