// See sgemm.hpp.
#include "algorithms/im2col_gemm/cuda/sgemm.hpp"

#include <algorithm>
#include <limits>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/common/rounding.hpp"

namespace convscope::im2col_gemm {
namespace {

constexpr int64_t kMaxBlocks = int64_t{1} << 30;
constexpr int64_t kMinSplitDepth = 128;
// The multiply-adds of a multiprocessor in the time of one byte of partial sums from L2 (its share of 5.5
// TB/s), and in that of one launch (3 us): 128 per cycle of 1.75 GHz.
constexpr double kMultiplyAddsPerByte = 5.4, kMultiplyAddsPerLaunch = 6.7e5;

// The share of multiply-adds among the instructions of the inner loop (algorithms/loop_budgets.csv), less for
// narrower tiles, which read more from L2.
double efficiency(int columns) {
  return columns == 128 ? 0.84 : columns == 64 ? 0.80 : 0.65;
}

struct Blocks {
  int64_t count, multiply_adds_each;
};
Blocks blocks(const SgemmProduct& product, const SgemmSplit& split) {
  const int64_t rows = std::max(product.rows, product.columns),
                columns = std::min(product.rows, product.columns);
  const int64_t tiles = ceil_div(rows, kSgemmRows) * ceil_div(columns, split.columns);
  return {tiles * product.batch * split.splits, int64_t{kSgemmRows} * split.columns * split.split_depth};
}

// In multiply-adds of one multiprocessor.
double cost(const SgemmProduct& product, const SgemmSplit& split) {
  const auto [count, each] = blocks(product, split);
  const double multiplied = static_cast<double>(ceil_div(count, kMultiprocessors)) *
                            static_cast<double>(each) / efficiency(split.columns);
  if (split.splits == 1) return multiplied;
  return multiplied + kMultiplyAddsPerLaunch +
         2 * kMultiplyAddsPerByte / kMultiprocessors * static_cast<double>(partial_bytes(product, split));
}

// Of all blocks; the last split is shorter.
double steps_of_depth(const SgemmProduct& product, const SgemmSplit& split) {
  const SgemmSplit whole{split.columns, 1, static_cast<int>(round_up(product.depth, kSgemmDepth))};
  return static_cast<double>(blocks(product, whole).count) * whole.split_depth;
}

// No split is empty.
SgemmSplit in_splits(int columns, int splits, int depth) {
  const int64_t each = round_up(ceil_div(depth, splits), kSgemmDepth);
  return {columns, static_cast<int>(ceil_div(depth, each)), static_cast<int>(each)};
}

}  // namespace

int64_t partial_bytes(const SgemmProduct& product, const SgemmSplit& split) {
  if (split.splits == 1) return 0;
  return int64_t{product.rows} * product.columns * product.batch * split.splits * int64_t{sizeof(float)};
}

SgemmSplit choose_split(const SgemmProduct& product, int64_t bytes) {
  SgemmSplit best;
  double lowest = std::numeric_limits<double>::infinity();
  const int64_t max_splits = std::max<int64_t>(1, product.depth / kMinSplitDepth);
  for (const int columns : kSgemmColumns)
    for (int splits = 1; splits <= max_splits; splits += std::max(1, splits / 4)) {
      const SgemmSplit split = in_splits(columns, splits, product.depth);
      if (partial_bytes(product, split) > bytes || (splits > 1 && blocks(product, split).count > kMaxBlocks))
        break;
      const double estimate = cost(product, split);
      if (estimate >= lowest) continue;
      lowest = estimate;
      best = split;
    }
  return best;
}

double executed_flops(const SgemmProduct& product, const SgemmSplit& split) {
  return 2.0 * steps_of_depth(product, split) * kSgemmRows * split.columns;
}

double staged_bytes(const SgemmProduct& product, const SgemmSplit& split) {
  return steps_of_depth(product, split) * (kSgemmRows + split.columns) * sizeof(float);
}

}  // namespace convscope::im2col_gemm
