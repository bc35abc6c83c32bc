#include "algorithms/winograd/tiling.hpp"

#include <algorithm>

#include "algorithms/winograd/toom_cook.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::winograd {

int64_t Axis::covered() const {
  int64_t sum = 0;
  for (const Tile& tile : tiles) sum += tile.size;
  return sum;
}

int64_t Axis::points() const {
  int64_t sum = 0;
  for (const Tile& tile : tiles) sum += alpha(tile);
  return sum;
}

int64_t Axis::tiles_with(int point) const {
  return std::count_if(tiles.begin(), tiles.end(), [&](const Tile& tile) { return alpha(tile) > point; });
}

Axis uniform_axis(int64_t outputs, int taps, int size) {
  Axis axis{outputs, taps, {}};
  for (int64_t start = 0; start < outputs; start += size) axis.tiles.push_back({start, size});
  return axis;
}

namespace {

// The fewest tiles of at most `largest` outputs.
Axis even_tiles(int64_t outputs, int taps, int64_t largest) {
  const int64_t count = ceil_div(outputs, largest);
  const int64_t small = outputs / count, larger_ones = outputs % count;
  Axis axis{outputs, taps, {}};
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int size = static_cast<int>(small + (i < larger_ones ? 1 : 0));
    axis.tiles.push_back({start, size});
    start += size;
  }
  return axis;
}

}  // namespace

Axis even_axis(int64_t outputs, int taps, bool in_1d) {
  if (taps == 1) return even_tiles(outputs, taps, 1);
  const Axis axis = even_tiles(outputs, taps, kLargestAlpha + 1 - taps);
  if (!in_1d) return axis;
  const Axis larger = even_tiles(outputs, taps, std::min(kLargestAlpha1d + 1 - taps, kLargestAlpha));
  return 4 * larger.points() <= 3 * axis.points() ? larger : axis;
}

std::string describe(const Axis& axis) {
  std::string text = std::to_string(axis.outputs) + "=";
  const bool short_list = axis.tiles.size() <= 4;
  for (size_t i = 0; i < axis.tiles.size();) {
    size_t end = i + 1;
    while (!short_list && end < axis.tiles.size() && axis.tiles[end].size == axis.tiles[i].size) ++end;
    if (i > 0) text += "+";
    if (end - i > 1) text += std::to_string(end - i) + "x";
    text += std::to_string(axis.tiles[i].size);
    i = end;
  }
  if (axis.covered() > axis.outputs) text += "-" + std::to_string(axis.covered() - axis.outputs);
  return text;
}

// The order of the residues (short or long in h, in w) is such that each set that present() asks for is a
// range: long-short, long-long, short-long, short-short.
Residues split_stride(Extent2 filter, Extent2 stride) {
  Residues residues;
  residues.step = stride;
  residues.taps = {ceil_div(filter.h, stride.h), ceil_div(filter.w, stride.w)};
  const auto is_long = [](int64_t residue, int64_t taps, int64_t step, int64_t longest) {
    return ceil_div(taps - residue, step) == longest;
  };
  const auto add = [&](bool long_h, bool long_w) {
    for (int64_t h = 0; h < stride.h; ++h)
      for (int64_t w = 0; w < stride.w; ++w)
        if (is_long(h, filter.h, stride.h, residues.taps.h) == long_h &&
            is_long(w, filter.w, stride.w, residues.taps.w) == long_w)
          residues.offsets.push_back({h, w});
    return static_cast<int64_t>(residues.offsets.size());
  };
  residues.long_from_ = add(true, false);
  residues.long_in_both_end_ = add(true, true);
  residues.long_in_w_end_ = add(false, true);
  add(false, false);
  return residues;
}

Residues::Range Residues::present(bool infinite_h, bool infinite_w) const {
  return {infinite_w ? long_from_ : 0, infinite_h   ? long_in_both_end_
                                       : infinite_w ? long_in_w_end_
                                                    : static_cast<int64_t>(offsets.size())};
}

}  // namespace convscope::winograd
