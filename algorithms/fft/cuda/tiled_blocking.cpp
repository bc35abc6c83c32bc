#include "algorithms/fft/cuda/tiled_blocking.hpp"

#include <algorithm>

#include "algorithms/common/rounding.hpp"

namespace convscope::fft {
namespace {

// Rows of a block of the product: fewer tiles at once leave it partly empty.
constexpr int64_t kTileStep = 64;
// A launch has at most 2^31 - 1 blocks; and more spectra than this at once gain nothing.
constexpr int64_t kMaxTiles = 1 << 16;
constexpr int64_t kMaxBytes = int64_t{4} << 30;
// Tiles, and columns, of the smallest block; fewer leave the product's blocks nearly empty.
constexpr int64_t kMinBlock = 32;
// Fewer do not fill 132 multiprocessors in the product.
constexpr int64_t kMinCachedTiles = 256;

int64_t tile_count(const Geometry& g) {
  return g.depth_is_tiles ? g.depth() : g.rows();
}
// The filter, or its gradient, has as many rows of spectra as this.
int64_t filter_rows(const Geometry& g) {
  return g.depth_is_tiles ? g.rows() : g.depth();
}

// The largest block up to `limit` of `whole`, at least `step` or whole, such that blocks are equally large.
int64_t even_tiles(int64_t whole, int64_t limit, int64_t step) {
  if (limit >= whole) return whole;
  if (limit < step) return std::max<int64_t>(limit, 1);
  const int64_t largest = limit / step * step;
  return std::min(largest, round_up(ceil_div(whole, ceil_div(whole, largest)), step));
}

// Blocks of columns start with this one, which the workspace cap has room for twice, and go on to smaller
// ones and then to larger ones.
class Columns {
 public:
  Columns(const Geometry& g, int64_t preferred)
      : all_(g.columns()), most_(ceil_div(all_, kMinBlock)), first_(most_) {
    while (first_ > 1 && block(first_ - 1) <= preferred) --first_;
  }
  int64_t count() const { return most_; }
  int64_t operator[](int64_t i) const { return block(first_ + i <= most_ ? first_ + i : most_ - i); }

 private:
  int64_t block(int64_t blocks) const { return std::min(all_, padded_row(ceil_div(all_, blocks))); }
  int64_t all_, most_, first_;
};

}  // namespace

int64_t spectra_bytes(const Geometry& g, int64_t bins, int64_t groups, const TiledBlocking& blocking) {
  const int64_t columns = padded_row(blocking.columns),
                channels = padded_row(static_cast<int64_t>(g.a.lanes.size()));
  return bins * groups * 8 * (blocking.tiles * (channels + columns) + filter_rows(g) * columns);
}

int64_t launches(const Geometry& g, const TiledBlocking& blocking) {
  return ceil_div(g.columns(), blocking.columns) * (1 + 3 * ceil_div(tile_count(g), blocking.tiles));
}

TiledBlocking choose_tiled_blocking(const Geometry& g, int64_t bins, int64_t groups, int64_t llc_bytes,
                                    int64_t workspace_cap) {
  const int64_t unit = bins * groups * 8, filter_column = filter_rows(g) * unit;
  const int64_t tile_channels = padded_row(static_cast<int64_t>(g.a.lanes.size())) * unit;
  // The fewest tiles at once; 0 where no number keeps the launches few enough.
  const auto fewest_tiles = [&](int64_t columns) -> int64_t {
    const int64_t max_blocks = (kMaxLaunches / ceil_div(g.columns(), columns) - 1) / 3;
    if (max_blocks < 1) return 0;
    return std::max(std::min(tile_count(g), kMinBlock), ceil_div(tile_count(g), max_blocks));
  };
  TiledBlocking blocking{std::max(std::min(tile_count(g), kTileStep), fewest_tiles(g.columns())), g.columns(),
                         !g.depth_is_tiles};
  if (spectra_bytes(g, bins, groups, blocking) > workspace_cap) {
    const Columns columns(g, workspace_cap / 2 / filter_column);
    int64_t least = 0;  // bytes, of the smallest so far
    for (int64_t i = 0; i < columns.count(); ++i) {
      const TiledBlocking smallest{fewest_tiles(columns[i]), columns[i], false};
      if (smallest.tiles == 0) continue;
      const int64_t bytes = spectra_bytes(g, bins, groups, smallest);
      if (least != 0 && bytes >= least) continue;
      least = bytes;
      blocking = smallest;
      if (least <= workspace_cap) break;
    }
  }
  const int64_t fewest = fewest_tiles(blocking.columns);
  const int64_t filter = padded_row(blocking.columns) * filter_column;
  const int64_t tile = tile_channels + padded_row(blocking.columns) * unit;
  int64_t limit = std::max<int64_t>((workspace_cap - filter) / tile, 1);
  limit = std::min({limit, kMaxTiles, std::max(kMaxBytes / tile, kTileStep)});
  if (filter <= llc_bytes / 4 && llc_bytes / 2 / tile >= kMinCachedTiles)
    limit = std::min(limit, llc_bytes / 2 / tile);
  blocking.tiles = std::max(even_tiles(tile_count(g), limit, kTileStep), fewest);
  return blocking;
}

}  // namespace convscope::fft
