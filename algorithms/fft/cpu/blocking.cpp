#include "algorithms/fft/cpu/blocking.hpp"

#include <algorithm>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/fft/cpu/transforms.hpp"

namespace convscope::fft {
namespace {

// The largest block up to `limit` of `whole`, at least 1 step, such that blocks are equally large.
int64_t even_block(int64_t whole, int64_t limit, int64_t step) {
  const int64_t steps = ceil_div(whole, step), max_steps = std::clamp<int64_t>(limit / step, 1, steps);
  return std::min(whole, ceil_div(steps, ceil_div(steps, max_steps)) * step);
}

// Bytes of one channel, or column, of one tile in all bins.
int64_t spectrum_bytes(int size) {
  return bins(size) * 2 * static_cast<int64_t>(sizeof(float));
}
// In these units, what odd_lines() adds at most to a row of real parts, and to a bin of real and imaginary
// ones.
constexpr int64_t kRowPadding = kOddLinesPadding, kBinPadding = ceil_div(kOddLinesPadding, 2);

}  // namespace

Blocking choose_blocking(const Geometry& g, int size, int64_t groups, int64_t llc_bytes,
                         const PlanOptions& options) {
  const int64_t unit = spectrum_bytes(size), panel = gemm_shape().columns_per_panel;
  const int64_t columns = round_up(g.columns(), panel);
  const int64_t channels = static_cast<int64_t>(g.a.lanes.size()) + kRowPadding;
  const int64_t fixed = options.threads * scratch_bytes(size) + 3 * kBinPadding * unit;
  const int64_t cap = std::max<int64_t>(options.workspace_cap - fixed, 0);
  const int64_t cache = llc_bytes / 2;

  if (g.depth_is_tiles) {
    const int64_t a_tile = channels * unit, column = (g.depth() + g.rows()) * unit;
    const int64_t left = cap - g.depth() * a_tile;
    if (left >= panel * column)
      return {g.rows(), even_block(g.columns(), std::min(left, cache) / column, panel), g.depth(), false};
    // Half for the result, less where that leaves no room for one tile of A and of B.
    const int64_t limit = std::min(cap / 2 / (g.rows() * unit), (cap - a_tile) / ((g.rows() + 1) * unit));
    const int64_t block = even_block(g.columns(), limit, panel), padded = round_up(block, panel);
    const int64_t depth = (cap - padded * g.rows() * unit) / (a_tile + padded * unit);
    return {g.rows(), block, even_block(g.depth(), depth, 1), false};
  }

  const int64_t filters = (groups * columns * g.depth() + (groups - 1) * kBinPadding) * unit;
  const int64_t row = (channels + columns) * unit;
  const int64_t enough_rows = std::min<int64_t>(g.rows(), 2 * gemm_shape().rows_per_block);
  if (filters + enough_rows * row <= cap) {
    const int64_t room = std::min(cap - filters, std::max(cache, filters));
    return {even_block(g.rows(), room / row, 1), g.columns(), g.depth(), true};
  }
  // Half for the filters, less where that leaves no room for one row of A and of the result.
  const int64_t limit =
      std::min(cap / 2 / (g.depth() * unit), (cap - channels * unit) / ((g.depth() + 1) * unit));
  const int64_t block = even_block(g.columns(), limit, panel), padded = round_up(block, panel);
  const int64_t rows = (cap - padded * g.depth() * unit) / ((channels + padded) * unit);
  return {even_block(g.rows(), rows, 1), block, g.depth(), false};
}

}  // namespace convscope::fft
