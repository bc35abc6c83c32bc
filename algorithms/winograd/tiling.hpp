// How a convolution is cut for Winograd: each spatial dimension into output tiles, a stride into residues.
// Only arithmetic on sizes; no tensors. Start at Axis and Residues.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope::winograd {

struct Tile {
  int64_t start = 0;  // its first output
  int size = 1;       // outputs, some of which may lie past the end
};

// One spatial dimension of the outputs, cut into tiles, the largest first.
struct Axis {
  int64_t outputs = 1;
  int taps = 1;
  std::vector<Tile> tiles;

  int alpha(const Tile& tile) const { return tile.size + taps - 1; }
  int largest_alpha() const { return alpha(tiles.front()); }
  int64_t covered() const;              // outputs computed, those past the end included
  int64_t points() const;               // the sum of alpha over the tiles: products for one pair of channels
  int64_t tiles_with(int point) const;  // tiles whose algorithm has interpolation point number `point`
};

// Tiles of one size, the last one padded if it must be.
Axis uniform_axis(int64_t outputs, int taps, int size);
// The fewest tiles of at most the size that the accuracy allows, as equal as possible, nothing padded:
// 13 = 5+4+4 for three taps. One tap a tile where there is nothing to save. `in_1d`: the filter has one tap
// in the other dimension, and tiles may have kLargestAlpha1d points where that saves a quarter of them.
Axis even_axis(int64_t outputs, int taps, bool in_1d = false);
// "13=5+4+4", "27=6x4+3", "13=4+4+4+4-3" where 3 are padding.
std::string describe(const Axis& axis);

// A stride s splits the filter into s residues of every s-th tap, each a unit-stride convolution. All
// residues are treated as having the taps of the longest; a residue that is one tap short is zero at
// infinity.
struct Residues {
  Extent2 step{1, 1};
  Extent2 taps{1, 1};            // of the longest residue
  std::vector<Extent2> offsets;  // the first tap of each residue
  // Residues [begin, end) that are not zero at a point that is infinity in h, in w.
  struct Range {
    int64_t begin = 0, end = 0;
  };
  Range present(bool infinite_h, bool infinite_w) const;

 private:
  friend Residues split_stride(Extent2 filter, Extent2 stride);
  int64_t long_from_ = 0, long_in_both_end_ = 0, long_in_w_end_ = 0;
};
Residues split_stride(Extent2 filter, Extent2 stride);

}  // namespace convscope::winograd
