// The filter as the kernels of tiled.cu and chwn.cu read it: rows of 64 written channels, zeros past the last
// one, one row for every (tap, read channel) in the order of the taps of one residue. Filter loads are then
// plain copies for every layout, pass and residue.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/direct/cuda/geometry.hpp"
#include "algorithms/direct/cuda/plans.hpp"
#include "bench/core/rounding.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
// Written pixels of one residue of both axes and its packed filter.
struct PackedResidue {
  direct::AxisResidue y, x;
  int64_t filter_offset = 0;  // floats into the workspace
};

// All residues of forward (one) or backward-data, with their places in the workspace.
class PackedFilter {
 public:
  PackedFilter(const ConvProblem& problem, bool channels_outside)
      : problem_(problem), channels_(direct::pass_channels(problem)), channels_outside_(channels_outside) {
    const bool forward = problem.pass == Pass::forward;
    for (const direct::AxisResidue& y : direct::axis_residues(direct::vertical(problem), forward))
      for (const direct::AxisResidue& x : direct::axis_residues(direct::horizontal(problem), forward)) {
        residues_.push_back({y, x, floats_});
        floats_ += problem.groups * channel_tiles() * static_cast<int64_t>(y.taps) * x.taps * channels_.read *
                   direct::TiledTile::kChannels;
      }
  }

  int64_t bytes() const { return floats_ * static_cast<int64_t>(sizeof(float)); }
  // Terms of the longest sum of a residue. Taps on padding add zeros, which are no terms.
  double longest_sum() const {
    const Extent2 read = problem_.pass == Pass::forward ? problem_.input : problem_.output();
    const auto inside = [](const direct::AxisResidue& axis, int64_t size) {
      return std::min<int64_t>(axis.taps, ceil_div(size, axis.read_tap_step));
    };
    int64_t taps = 0;
    for (const PackedResidue& residue : residues_)
      taps = std::max(taps, inside(residue.y, read.h) * inside(residue.x, read.w));
    return static_cast<double>(taps) * channels_.read;
  }
  int64_t channel_tiles() const { return ceil_div(channels_.written, 64); }
  const std::vector<PackedResidue>& residues() const { return residues_; }

  void pack(const float* filter, float* workspace, Queue& queue) const;

 private:
  ConvProblem problem_;
  direct::PassChannels channels_;
  bool channels_outside_;
  std::vector<PackedResidue> residues_;
  int64_t floats_ = 0;
};

}  // namespace convscope::CONVSCOPE_KERNELS
