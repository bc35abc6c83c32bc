// See sgemm_schedule.hpp.
#include "algorithms/im2col_gemm/cpu/sgemm_schedule.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"

namespace convscope::im2col_gemm {
namespace {

// With so many rows of A, or fewer, packing narrow panels takes more time than it saves.
constexpr int64_t kMaxRowsInPlace = 64;
// With a transposed A of so small a depth, or less, so does packing it: its lines stay in L1.
constexpr int64_t kMaxDepthInPlace = 64;
// A B of this depth or less is packed for any number of rows: its panels then hold many columns, and C is
// written in long pieces.
constexpr int64_t kMaxDepthPacked = 32;
// The lines of a column-major matrix are added to one sum after the other: not so many that it becomes
// inexact.
constexpr int64_t kMaxDepthByLines = 4096;

// Rows of B as the micro-kernel reads them.
bool is_b_in_rows(const MatrixProduct& product) {
  return (product.images == Images::together || one_by_one(product)) && !product.b.transposed;
}

}  // namespace

bool has_narrow_panels() {
  constexpr int64_t kLine = 16;  // floats
  return gemm_shape().columns_per_panel <= kLine;
}

// Eight images of 7x7, or one register tile of three vectors.
int64_t max_columns_by_rows() {
  return has_narrow_panels() ? 3 * lanes() : 392;
}

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
  return (product.images == Images::together || one_by_one(product)) && product.a.transposed &&
         (!has_narrow_panels() || product.depth <= kMaxDepthInPlace);
}
bool b_in_place(const MatrixProduct& product) {
  return is_b_in_rows(product) &&
         (!has_narrow_panels() || (product.rows <= kMaxRowsInPlace && product.depth > kMaxDepthPacked));
}

bool by_rows(const MatrixProduct& product, int64_t columns) {
  return is_b_in_rows(product) && !product.a.transposed && columns <= max_columns_by_rows();
}

Range part(int64_t count, int64_t parts, int64_t n, int64_t unit) {
  const int64_t units = ceil_div(count, unit);
  return {std::min(n * units / parts * unit, count), std::min((n + 1) * units / parts * unit, count)};
}

Share share_of(const MatrixProduct& product, const Split& split, int64_t thread) {
  return {part(product.rows, split.rows, thread / split.columns % split.rows, 1),
          part(product.columns, split.columns, thread % split.columns, lanes()),
          part(product.depth, split.depth, thread / (split.columns * split.rows), 1)};
}

Split split_for_threads(const MatrixProduct& product, int64_t threads, int64_t max_partial) {
  const auto cost = [&](const Split& split) {
    const int64_t rows = ceil_div(product.rows, split.rows);
    const int64_t vectors = ceil_div(ceil_div(product.columns, lanes()), split.columns);
    const int64_t depth = ceil_div(product.depth, split.depth);
    // Few rows take as long as a whole register tile: the loads of B are the bound.
    const int64_t steps = std::max<int64_t>(rows, gemm_shape().rows_per_block) * vectors;
    const int64_t in_columns = ceil_div(product.columns, split.columns);
    const int64_t packed =
        (by_rows(product, in_columns) ? 0 : rows) + (b_in_place(product) ? 0 : vectors * lanes());
    // Both operands come from memory or a shared cache, one vector in the time of two multiply-adds.
    const int64_t read = rows / lanes() + vectors;
    // A barrier, and each C written, read and added.
    const int64_t sums = split.depth == 1 ? 0 : 1000 + product.rows * product.columns / 2;
    return depth * (steps + packed / 2 + 2 * read) + sums;
  };
  Split best{1, threads, 1};
  const auto consider = [&](const Split& split) {
    if (cost(split) < cost(best)) best = split;
  };
  for (int64_t in_rows = 2; in_rows <= threads; ++in_rows)
    if (threads % in_rows == 0) consider({in_rows, threads / in_rows, 1});
  if (product.images == Images::together && product.depth >= threads &&
      product.rows * product.columns <= max_partial)
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

// The last panel is multiplied whole and what lies past the columns is discarded: 49 cost as much as 64,
// while rows are shared evenly between register tiles. Both costs in multiply-adds of vectors, per step of
// the depth: to pack a row of A costs about 0.6, one of B 0.2, or 0.6 where it is transposed, and to
// transpose a vector of C 12. (Some are read in place, which changes little.) Narrow panels leave too little
// idle.
bool better_exchanged(const MatrixProduct& product) {
  if (has_narrow_panels() || product.images == Images::in_columns || by_rows(product, product.columns))
    return false;
  const auto count = [](int64_t rows, int64_t columns) {
    const int64_t vectors = ceil_div(columns, lanes());
    return static_cast<double>(rows * vectors) + 0.6 * static_cast<double>(rows);
  };
  const int64_t rows = product.rows, columns = product.columns;
  const double transposing =
      12.0 / 16 * static_cast<double>(rows * columns) / static_cast<double>(product.depth);
  return count(columns, rows) + 0.6 * static_cast<double>(rows) + transposing <
         count(rows, columns) + 0.2 * static_cast<double>(columns);
}

std::optional<VectorProduct> as_vectors(const MatrixProduct& product) {
  if (product.images != Images::together) return std::nullopt;
  // Of the rows of C or, where C has a single column of neighbours, of that column.
  const bool column = product.columns == 1 && product.c_stride == 1 &&
                      (product.b.transposed || product.b.stride == 1) &&
                      (!product.a.transposed || product.depth <= kMaxDepthByLines);
  const int64_t max_rows = product.b.transposed ? kMaxVectorsByRows : kMaxVectorsByLines;
  if (!column && (product.rows > max_rows || product.a.transposed)) return std::nullopt;
  const Operand &matrix = column ? product.a : product.b, &x = column ? product.b : product.a;
  return VectorProduct{.rows = column ? product.rows : product.columns,
                       .depth = product.depth,
                       .vectors = column ? 1 : product.rows,
                       .matrix = matrix.data,
                       .stride = matrix.stride,
                       .transposed = matrix.transposed == column,
                       .x = x.data,
                       .x_step = x.stride,
                       .y = product.c,
                       .y_step = product.c_stride,
                       .accumulate = product.accumulate};
}

// Rows and depth are never padded, and shares of the columns end on whole vectors. Where images are
// multiplied one by one each share of an image's pixels has a last vector of its own.
double executed_flops(const MatrixProduct& asked, int64_t threads) {
  const auto flops = [](int64_t rows, int64_t columns, int64_t depth) {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  };
  if (const auto vectors = as_vectors(asked)) {
    const int64_t rows = vectors->transposed ? round_up(vectors->rows, lanes()) : vectors->rows;
    const int64_t depth = vectors->transposed ? vectors->depth : round_up(vectors->depth, lanes());
    return flops(rows, vectors->vectors, depth);
  }
  const MatrixProduct product = better_exchanged(asked) ? exchanged(asked) : asked;
  if (!one_by_one(product)) return flops(product.rows, round_up(product.columns, lanes()), product.depth);
  const Split split = threads == 1 ? Split{} : split_for_threads(product, threads, 0);
  int64_t columns = 0;
  for (int64_t n = 0; n < split.columns; ++n) {
    const Range share = part(product.columns, split.columns, n, lanes());
    for (int64_t begin = share.begin; begin < share.end;) {
      const int64_t next = (begin / product.image_pixels + 1) * product.image_pixels;
      columns += round_up(std::min(next, share.end) - begin, lanes());
      begin = next;
    }
  }
  return flops(product.rows, columns, product.depth);
}

}  // namespace convscope::im2col_gemm
