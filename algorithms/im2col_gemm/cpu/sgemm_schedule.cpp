// See packed_ways.hpp.
#include "algorithms/im2col_gemm/cpu/sgemm_schedule.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"

namespace convscope::im2col_gemm {

int64_t lanes() {
  return gemm_shape().columns_per_panel / 2;
}

bool one_by_one(const MatrixProduct& product) {
  if (product.images != Images::in_columns) return false;
  const int64_t images = ceil_div(product.columns, product.image_pixels);
  const int64_t apart = images * round_up(product.image_pixels, lanes());
  return 7 * apart <= 8 * round_up(product.columns, gemm_shape().columns_per_panel);
}

bool a_in_place(const MatrixProduct& product) {
  return (product.images == Images::together || one_by_one(product)) && product.a.transposed;
}
bool b_in_place(const MatrixProduct& product) {
  return (product.images == Images::together || one_by_one(product)) && !product.b.transposed;
}

bool by_rows(const MatrixProduct& product, int64_t columns) {
  return b_in_place(product) && !product.a.transposed && columns <= kMostColumnsByRows;
}

Interval part(int64_t count, int64_t parts, int64_t n, int64_t unit) {
  const int64_t units = ceil_div(count, unit);
  return {std::min(n * units / parts * unit, count), std::min((n + 1) * units / parts * unit, count)};
}

Share share_of(const MatrixProduct& product, const Cut& cut, int64_t thread) {
  return {part(product.rows, cut.rows, thread / cut.columns % cut.rows, 1),
          part(product.columns, cut.columns, thread % cut.columns, lanes()),
          part(product.depth, cut.depth, thread / (cut.columns * cut.rows), 1)};
}

Cut cut_for_threads(const MatrixProduct& product, int64_t threads, int64_t most_partial) {
  const auto cost = [&](const Cut& cut) {
    const int64_t rows = ceil_div(product.rows, cut.rows);
    const int64_t vectors = ceil_div(ceil_div(product.columns, lanes()), cut.columns);
    const int64_t depth = ceil_div(product.depth, cut.depth);
    // Few rows take as long as a whole register block, as B does not come faster.
    const int64_t steps = std::max<int64_t>(rows, gemm_shape().rows_per_block) * vectors;
    const int64_t in_columns = ceil_div(product.columns, cut.columns);
    const int64_t packed =
        (by_rows(product, in_columns) ? 0 : rows) + (b_in_place(product) ? 0 : vectors * lanes());
    // Both operands come from memory or a cache that is shared, a vector in the time of two multiply-adds.
    const int64_t read = rows / lanes() + vectors;
    // A barrier, and each C written, read and added.
    const int64_t sums = cut.depth == 1 ? 0 : 1000 + product.rows * product.columns / 2;
    return depth * (steps + packed / 2 + 2 * read) + sums;
  };
  Cut best{1, threads, 1};
  const auto consider = [&](const Cut& cut) {
    if (cost(cut) < cost(best)) best = cut;
  };
  for (int64_t in_rows = 2; in_rows <= threads; ++in_rows)
    if (threads % in_rows == 0) consider({in_rows, threads / in_rows, 1});
  if (product.images == Images::together && product.depth >= threads &&
      product.rows * product.columns <= most_partial)
    consider({1, 1, threads});
  return best;
}

MatrixProduct exchanged(MatrixProduct product) {
  std::swap(product.rows, product.columns);
  std::swap(product.a, product.b);
  product.a.transposed = !product.a.transposed;
  product.b.transposed = !product.b.transposed;
  return product;
}

// Columns that do not fill their last panel are multiplied in vain: 49 cost as much as 64, while rows are
// dealt out evenly. Both ways in multiply-adds of vectors, a step of the depth: a row of A is packed for
// about 0.6, one of B for 0.2 or where it is turned 0.6 too, and a vector of C turned for 12. (Some are read
// in place, which changes little.)
bool better_exchanged(const MatrixProduct& product) {
  if (product.images == Images::in_columns || by_rows(product, product.columns)) return false;
  const auto count = [](int64_t rows, int64_t columns) {
    const int64_t vectors = ceil_div(columns, lanes());
    return static_cast<double>(rows * vectors) + 0.6 * static_cast<double>(rows);
  };
  const int64_t rows = product.rows, columns = product.columns;
  const double turned = 12.0 / 16 * static_cast<double>(rows * columns) / static_cast<double>(product.depth);
  return count(columns, rows) + 0.6 * static_cast<double>(rows) + turned <
         count(rows, columns) + 0.2 * static_cast<double>(columns);
}

std::optional<VectorProduct> as_vectors(const MatrixProduct& product) {
  const int64_t most_rows = product.b.transposed ? kMostVectorsByRows : kMostVectorsByLines;
  if (product.images != Images::together || product.rows > most_rows || product.a.transposed)
    return std::nullopt;
  return VectorProduct{.rows = product.columns,
                       .depth = product.depth,
                       .vectors = product.rows,
                       .matrix = product.b.data,
                       .stride = product.b.stride,
                       .transposed = !product.b.transposed,
                       .x = product.a.data,
                       .x_step = product.a.stride,
                       .y = product.c,
                       .y_step = product.c_stride,
                       .accumulate = product.accumulate};
}

}  // namespace convscope::im2col_gemm
