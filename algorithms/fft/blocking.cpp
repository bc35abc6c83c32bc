#include "algorithms/fft/blocking.hpp"

#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/fft/transforms.hpp"

namespace convscope::fft {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The largest block up to `most` of `whole`, at least 1 step, such that blocks are equally large.
int64_t even_block(int64_t whole, int64_t most, int64_t step) {
  const int64_t steps = ceil_div(whole, step), most_steps = std::clamp<int64_t>(most / step, 1, steps);
  return std::min(whole, ceil_div(steps, ceil_div(steps, most_steps)) * step);
}

// Bytes of one channel, or column, of one tile in all bins; what alignment adds is covered by kPadding.
int64_t spectrum_bytes(int size) {
  return bins(size) * 2 * static_cast<int64_t>(sizeof(float));
}
// Padding of channels and panels to whole vectors and of bins to an odd number of lines.
constexpr int64_t kPadding = 32;

}  // namespace

Blocking choose_blocking(const Geometry& g, int size, int64_t groups, int64_t llc_bytes,
                         const PlanOptions& options) {
  const int64_t unit = spectrum_bytes(size), panel = gemm_shape().columns_per_panel;
  const int64_t columns = ceil_div(g.columns(), panel) * panel;
  const int64_t channels = static_cast<int64_t>(g.a.lanes.size()) + kPadding;
  const int64_t fixed = options.threads * scratch_bytes(size) + 3 * kPadding * unit;
  const int64_t cap = std::max<int64_t>(options.workspace_cap - fixed, 0);
  const int64_t cache = llc_bytes / 2;

  if (g.depth_is_tiles) {
    const int64_t a_tile = channels * unit, column = (g.depth() + g.rows()) * unit;
    const int64_t left = cap - g.depth() * a_tile;
    if (left >= panel * column)
      return {g.rows(), even_block(g.columns(), std::min(left, cache) / column, panel), g.depth(), false};
    const int64_t block = even_block(g.columns(), cap / 2 / (g.rows() * unit), panel);
    const int64_t depth =
        (cap - ceil_div(block, panel) * panel * g.rows() * unit) / (a_tile + (block + panel) * unit);
    return {g.rows(), block, even_block(g.depth(), depth, 1), false};
  }

  const int64_t filters = groups * columns * g.depth() * unit, row = (channels + columns) * unit;
  const int64_t enough_rows = std::min<int64_t>(g.rows(), 2 * gemm_shape().rows_per_block);
  if (filters + enough_rows * row <= cap) {
    const int64_t room = std::min(cap - filters, std::max(cache, filters));
    return {even_block(g.rows(), room / row, 1), g.columns(), g.depth(), true};
  }
  const int64_t block = even_block(g.columns(), cap / 2 / (g.depth() * unit), panel);
  const int64_t padded = ceil_div(block, panel) * panel;
  const int64_t rows = (cap - padded * g.depth() * unit) / ((channels + padded) * unit);
  return {even_block(g.rows(), rows, 1), block, g.depth(), false};
}

}  // namespace convscope::fft
