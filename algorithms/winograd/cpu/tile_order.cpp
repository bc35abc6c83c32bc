#include "algorithms/winograd/cpu/tile_order.hpp"

#include <algorithm>

namespace convscope::winograd {

int64_t Block::strips_with(const Geometry& geometry, int point_h) const {
  return std::clamp<int64_t>(geometry.h.tiles_with(point_h) - first_row, 0, rows) * images;
}

TileOrder::TileOrder(const Geometry& geometry, const Block& block)
    : low_h_(geometry.h.alpha(geometry.h.tiles.back())),
      low_w_(geometry.w.alpha(geometry.w.tiles.back())),
      strips_(block.strips()),
      high_(block.strips_with(geometry, geometry.points_h() - 1)),
      columns_(geometry.tile_columns()),
      wide_(geometry.w.tiles_with(geometry.points_w() - 1)) {}

int64_t TileOrder::row(int64_t strip, int64_t column) const {
  const int64_t low = strips_ - high_, narrow = columns_ - wide_;
  const bool is_high = strip < high_;
  const int64_t in_column = is_high ? high_ : low, at = is_high ? strip : strip - high_;
  if (column < wide_) return (is_high ? low * wide_ : 0) + column * in_column + at;
  return strips_ * wide_ + (is_high ? 0 : high_ * narrow) + (column - wide_) * in_column + at;
}

TileOrder::Range TileOrder::with(int point_h, int point_w) const {
  const bool only_high = point_h >= low_h_, only_wide = point_w >= low_w_;
  const int64_t begin = only_high ? (strips_ - high_) * wide_ : 0;
  const int64_t narrow = only_wide ? 0 : (only_high ? high_ : strips_) * (columns_ - wide_);
  return {begin, strips_ * wide_ + narrow - begin};
}

}  // namespace convscope::winograd
