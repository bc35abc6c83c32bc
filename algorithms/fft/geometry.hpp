// Where the tiles of the three tensors lie: every pass, stride and padding is reduced to one form,
//   Y[row][column] = sum over depth of A[row][depth] correlated with B[column][depth],
// on planes of size x size samples. No transforms here. Start at struct Operand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/problem.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::fft {

// One dimension of a tensor as a tile sees it. Sample i in [0, window) of a tile lies at the coordinate
//   step * i + advance * tile + shift + residue
// and is zero (or not written) when that is outside [0, extent). `stride` is in elements of the tensor.
struct Axis {
  int64_t extent = 1, stride = 1;
  int64_t step = 1, advance = 0, shift = 0;
  int64_t window = 1;
};

// Sample numbers [first, last) of a window.
struct Range {
  int64_t first = 0, last = 0;
  bool contains(int64_t i) const { return first <= i && i < last; }
  bool operator==(const Range&) const = default;
};

// The samples of the window that lie inside the tensor when sample 0 has the coordinate `origin`. Inline, as
// origin(): the transforms of the CPU call both for every tile.
inline Range inside(const Axis& axis, int64_t origin) {
  const int64_t last_coordinate = axis.extent - 1;
  int64_t first = -floor_div(origin, axis.step), last = floor_div(last_coordinate - origin, axis.step);
  if (axis.step < 0) {
    first = -floor_div(last_coordinate - origin, -axis.step);
    last = floor_div(origin, -axis.step);
  }
  first = std::clamp<int64_t>(first, 0, axis.window);
  return {first, std::max(first, std::min(axis.window, last + 1))};
}

// One value of an index that selects planes: a channel with its polyphase part, or a tile of an image.
struct Item {
  int64_t offset = 0;  // elements from the start of the group's tensor
  Extent2 residue{0, 0};
  Extent2 tile{0, 0};
};

// The coordinate of sample 0 of the plane of these two items, down and across.
inline Extent2 origin(const Axis& h, const Axis& w, const Item& lane, const Item& other) {
  return {h.advance * (lane.tile.h + other.tile.h) + h.shift + lane.residue.h + other.residue.h,
          w.advance * (lane.tile.w + other.tile.w) + w.shift + lane.residue.w + other.residue.w};
}

// The planes of one tensor are the pairs of a `lane` (the vectorised index, always channels) and an `other`.
struct Operand {
  Role role = Role::input;
  Axis h, w;
  std::vector<Item> lanes, others;
  int64_t group_offset = 0;  // elements from one group to the next
};

// forward, backward_data: rows are tiles, columns result channels, depth the channels that are summed over.
//   A [tile][channel], B [depth channel][column], Y [tile][column] as (other, lane).
// backward_filter: rows are input channels, columns output channels, depth the tiles.
//   A [tile][row], B [tile][column], Y [row][column] as (other, lane).
// A stride of s splits channels into up to s.h * s.w unit-stride residues (polyphase), items of their own.
struct Geometry {
  Operand a, b, y;
  bool depth_is_tiles = false;
  int64_t rows() const { return static_cast<int64_t>(y.others.size()); }
  int64_t columns() const { return static_cast<int64_t>(y.lanes.size()); }
  int64_t depth() const { return static_cast<int64_t>(b.others.size()); }
};

// Indices [first, first + count) that are worked on at a time, and those of at most `step` from `first` on.
struct Block {
  int64_t first = 0, count = 0;
  bool operator==(const Block&) const = default;
};
constexpr Block block(int64_t first, int64_t step, int64_t whole) {
  return {first, std::min(step, whole - first)};
}
// "32 of 100"; "100" of the whole.
std::string part_text(int64_t part, int64_t whole);

// Taps of the largest residue, ceil(filter / stride); a tile of `size` yields size - taps + 1 results.
Extent2 taps_per_residue(const ConvProblem& problem);

// What every variant refuses; tile_support() also filters with more taps per residue than a tile has, and
// strides of more residues than planning can list.
Support common_support(const ConvProblem& problem);
Support tile_support(const ConvProblem& problem, int size);

// Algorithm::error_growth() on tiles: a transform mixes all elements of a tile and rounds once at each of its
// log2(size^2) levels of butterflies (Higham, Accuracy and Stability of Numerical Algorithms, section 24.1).
double tile_error_growth(int size);

// For what tile_support() takes.
Geometry make_geometry(const ConvProblem& problem, int size);

}  // namespace convscope::fft
