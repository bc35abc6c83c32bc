#include "algorithms/implicit_gemm/cuda/tiling.hpp"

#include <algorithm>
#include <limits>

#include "algorithms/common/gpu_limits.hpp"

namespace convscope::implicit_gemm {
namespace {

// Fewer than this a part is not worth its start.
constexpr int kSmallestPart = 128;

// In multiply-adds of one multiprocessor.
double cost(const IndexMap& map, const Tile& tile, int splits, const Machine& machine) {
  const int64_t blocks =
      ceil_div(map.rows, tile.rows) * ceil_div(map.columns, tile.columns) * map.groups * splits;
  const double block = static_cast<double>(tile.rows) * tile.columns *
                       static_cast<double>(ceil_div(std::max(map.depth, 1), splits));
  const double product = static_cast<double>(ceil_div(blocks, kMultiprocessors)) * block / tile.efficiency;
  if (splits == 1) return product;
  const double partial_bytes = 2.0 * sizeof(float) * static_cast<double>(partial_elements(map, splits));
  return product + partial_bytes / kMultiprocessors * machine.multiply_adds_per_byte +
         machine.multiply_adds_per_launch;
}

}  // namespace

int64_t part_depth(const IndexMap& map, int splits, int depth) {
  return ceil_div(ceil_div(map.depth, depth), splits) * depth;
}

int pieces(const IndexMap& map, int splits, int depth) {
  return static_cast<int>(std::max(ceil_div(part_depth(map, splits, depth), kLongestSum), int64_t{1}));
}

int64_t partial_elements(const IndexMap& map, int splits) {
  return splits == 1 ? 0 : int64_t{map.rows} * map.columns * map.groups * splits;
}

TileSplit choose_split(const IndexMap& map, std::span<const Tile> tiles, const Machine& machine,
                       int64_t workspace_bytes) {
  TileSplit best;
  double lowest = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles)
    for (int splits = 1; splits == 1 || splits <= map.depth / kSmallestPart;
         splits += std::max(1, splits / 4)) {
      if (int64_t{map.groups} * splits > kMaxGridYz) break;
      if (partial_elements(map, splits) * int64_t{sizeof(float)} > workspace_bytes && splits > 1) break;
      const double now = cost(map, tile, splits, machine);
      if (now >= lowest) continue;
      lowest = now;
      best = {tile, splits};
    }
  return best;
}

std::string describe(const TileSplit& split) {
  std::string text = std::to_string(split.tile.rows) + "x" + std::to_string(split.tile.columns) + " tiles";
  if (split.splits > 1) text += ", depth in " + std::to_string(split.splits) + " parts";
  return text;
}

}  // namespace convscope::implicit_gemm
