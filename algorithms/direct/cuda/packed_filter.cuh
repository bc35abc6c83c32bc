// The base of the plans of tiled.cu and chwn.cu, whose kernels read a packed filter: rows of 64 written
// channels, zeros past the last one, one row for every (tap, read channel) in the order of the taps of one
// residue. Filter loads are then plain copies for every layout, pass and residue.
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

// Forward, of one residue, or backward-data. The workspace has the packed filters of all residues.
class PackedFilterPlan : public Plan {
 public:
  int64_t workspace_bytes() const final { return floats_ * static_cast<int64_t>(sizeof(float)); }
  // Of the residue with the longest. Taps on padding add zeros, which are no terms.
  double longest_sum() const final {
    const auto inside = [](const direct::AxisResidue& axis, int64_t size) {
      return std::min<int64_t>(axis.taps, ceil_div(size, axis.read_tap_step));
    };
    int64_t taps = 0;
    for (const PackedResidue& residue : residues_)
      taps = std::max(taps, inside(residue.y, read_.size[2]) * inside(residue.x, read_.size[3]));
    return static_cast<double>(taps) * channels_.read;
  }
  bool has_prepare() const final { return true; }
  void prepare(const ConvArgs& args, Queue& queue) final;

 protected:
  PackedFilterPlan(const ConvProblem& problem, bool channels_outside)
      : problem_(problem),
        forward_(problem.pass == Pass::forward),
        channels_(direct::pass_channels(problem)),
        channel_tiles_(ceil_div(channels_.written, direct::TiledTile::kChannels)),
        read_(problem.shape(forward_ ? Role::input : Role::output)),
        written_(problem.shape(written_role(problem.pass))),
        channels_outside_(channels_outside) {
    for (const direct::AxisResidue& y : direct::axis_residues(direct::vertical(problem), forward_))
      for (const direct::AxisResidue& x : direct::axis_residues(direct::horizontal(problem), forward_)) {
        residues_.push_back({y, x, floats_});
        floats_ += problem.groups * channel_tiles_ * static_cast<int64_t>(y.taps) * x.taps * channels_.read *
                   direct::TiledTile::kChannels;
      }
  }

  const ConvProblem problem_;
  const bool forward_;
  const direct::PassChannels channels_;
  const int64_t channel_tiles_;  // of a group
  const TensorShape read_, written_;
  std::vector<PackedResidue> residues_;

 private:
  const bool channels_outside_;
  int64_t floats_ = 0;
};

}  // namespace convscope::CONVSCOPE_KERNELS
