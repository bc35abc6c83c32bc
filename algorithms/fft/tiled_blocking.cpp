#include "algorithms/fft/tiled_blocking.hpp"

#include <algorithm>

#include "algorithms/common/rounding.hpp"

namespace convscope::fft {
namespace {

// Rows of a block of the product: fewer tiles at once leave it partly empty.
constexpr int64_t kTileStep = 64;
// A launch has at most 2^31 - 1 blocks; and more spectra than this at once gain nothing.
constexpr int64_t kMostTiles = 1 << 16;
constexpr int64_t kMostBytes = int64_t{4} << 30;
// Fewer do not fill 132 multiprocessors in the product.
constexpr int64_t kFewestCachedTiles = 256;

int64_t tile_count(const Geometry& g) {
  return g.depth_is_tiles ? g.depth() : g.rows();
}
// The filter, or its gradient, has as many rows of spectra as this.
int64_t filter_rows(const Geometry& g) {
  return g.depth_is_tiles ? g.rows() : g.depth();
}

// The largest block up to `most` of `whole`, at least `step` or whole, such that blocks are equally large.
int64_t even_block(int64_t whole, int64_t most, int64_t step) {
  if (most >= whole) return whole;
  if (most < step) return std::max<int64_t>(most, 1);
  const int64_t largest = most / step * step;
  return std::min(largest, round_up(ceil_div(whole, ceil_div(whole, largest)), step));
}

}  // namespace

int64_t spectra_bytes(const Geometry& g, int64_t bins, int64_t groups, const TiledBlocking& blocking) {
  const int64_t columns = padded_row(blocking.columns),
                channels = padded_row(static_cast<int64_t>(g.a.lanes.size()));
  return bins * groups * 8 * (blocking.tiles * (channels + columns) + filter_rows(g) * columns);
}

TiledBlocking choose_tiled_blocking(const Geometry& g, int64_t bins, int64_t groups, int64_t llc_bytes,
                                    int64_t workspace_cap) {
  const int64_t unit = bins * groups * 8, filter_column = filter_rows(g) * unit;
  const int64_t tile_channels = padded_row(static_cast<int64_t>(g.a.lanes.size())) * unit;
  const int64_t enough_tiles = std::min(tile_count(g), kTileStep);
  TiledBlocking blocking{tile_count(g), g.columns(), !g.depth_is_tiles};
  blocking.tiles = enough_tiles;
  if (spectra_bytes(g, bins, groups, blocking) > workspace_cap) {
    blocking.keep_filters = false;
    const int64_t most = workspace_cap / 2 / filter_column / kRowUnit * kRowUnit;
    blocking.columns = std::min(g.columns(), std::max(even_block(g.columns(), most, kTileStep), kRowUnit));
    blocking.tiles = 1;
    while (blocking.columns > kRowUnit && spectra_bytes(g, bins, groups, blocking) > workspace_cap)
      blocking.columns = padded_row(blocking.columns) - kRowUnit;
  }
  const int64_t filter = padded_row(blocking.columns) * filter_column;
  const int64_t tile = tile_channels + padded_row(blocking.columns) * unit;
  int64_t most = std::max<int64_t>((workspace_cap - filter) / tile, 1);
  most = std::min({most, kMostTiles, std::max(kMostBytes / tile, kTileStep)});
  if (filter <= llc_bytes / 4 && llc_bytes / 2 / tile >= kFewestCachedTiles)
    most = std::min(most, llc_bytes / 2 / tile);
  blocking.tiles = even_block(tile_count(g), most, kTileStep);
  return blocking;
}

}  // namespace convscope::fft
