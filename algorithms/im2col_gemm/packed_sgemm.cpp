// Our SGEMM: both operands are packed into the panels of algorithms/common/packed_gemm, a block of B for the
// second cache, a panel of A for the first. Every element of C is summed in the same order whatever the
// threads. The loops around the micro-kernel are those of Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication" (2008), with the order of the two inner ones exchanged. Start at Part::run.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/transpose.hpp"
#include "algorithms/im2col_gemm/gemm.hpp"

namespace convscope::im2col_gemm {
namespace {

constexpr int64_t kFloat = sizeof(float);
// A panel of A of this depth fills half of a first-level cache.
constexpr int64_t kMostDepth = 320;
// Panels in a packed block of B: half of a second-level cache.
constexpr int64_t kMostPanels = 12;
constexpr int64_t kWidest = 32;  // columns of a panel

// Calls body(first, count, offset) for each stretch of [begin, end) in one image; `offset` is where its first
// pixel lies, in elements.
template <typename Body>
void for_each_stretch(int64_t begin, int64_t end, int64_t image_pixels, int64_t image_step,
                      const Body& body) {
  if (image_pixels == 0) return body(begin, end - begin, begin);
  while (begin < end) {
    const int64_t image = begin / image_pixels, last = std::min(end, (image + 1) * image_pixels);
    body(begin, last - begin, image * image_step + begin % image_pixels);
    begin = last;
  }
}

// The rows and columns of a product that one thread computes.
class Part {
 public:
  // With `c_transposed` C is stored as its transpose, and images are together or in the depth.
  Part(const MatrixProduct& product, bool c_transposed, int64_t scratch_bytes)
      : p_(product),
        c_transposed_(c_transposed),
        most_rows_(gemm_shape().rows_per_block),
        panel_(gemm_shape().columns_per_panel),
        column_pixels_(product.images == Images::in_columns ? product.image_pixels : 0),
        depth_pixels_(product.images == Images::in_depth ? product.image_pixels : 0) {
    depth_ = ceil_div(p_.depth, ceil_div(p_.depth, kMostDepth));
    columns_ = (scratch_bytes / kFloat - tile_floats() - most_rows_ * depth_) / panel_step(depth_) * panel_;
  }

  // `panels` of B, a panel of A, a tile of C.
  static int64_t scratch_floats(int64_t panels) {
    const GemmShape shape = gemm_shape();
    return shape.rows_per_block * kMostDepth + panels * odd_lines(shape.columns_per_panel * kMostDepth) +
           tile_floats();
  }

  void run(int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end,
           float* scratch) const {
    float* const tile = scratch;
    float* const b = tile + tile_floats();
    const int64_t row_blocks = ceil_div(row_end - row_begin, most_rows_);
    const int64_t column_blocks = ceil_div(column_end - column_begin, columns_);
    const int64_t step = round_up(ceil_div(column_end - column_begin, column_blocks), panel_);
    for (int64_t j = column_begin; j < column_end; j += step)
      for (int64_t k = 0; k < p_.depth; k += depth_) {
        const int64_t columns = std::min(step, column_end - j), depth = std::min(depth_, p_.depth - k);
        const GemmMode mode = k > 0 || p_.accumulate ? GemmMode::add : GemmMode::overwrite;
        float* const a = b + ceil_div(columns, panel_) * panel_step(depth);
        pack_b(j, columns, k, depth, b);
        for (int64_t n = 0; n < row_blocks; ++n) {
          const int64_t i = row_begin + n * (row_end - row_begin) / row_blocks;
          const int64_t rows = row_begin + (n + 1) * (row_end - row_begin) / row_blocks - i;
          pack_a(i, rows, k, depth, a);
          multiply(a, i, rows, b, j, columns, depth, mode, tile);
        }
      }
  }

 private:
  // A tile of C, and once more turned.
  static int64_t tile_floats() {
    return 2 * round_up(gemm_shape().rows_per_block * gemm_shape().columns_per_panel, 16);
  }
  // From panel to panel of B; a row of B goes to all of them, which must not share a set of a cache.
  int64_t panel_step(int64_t depth) const { return odd_lines(depth * panel_); }

  // a[depth][rows]
  void pack_a(int64_t i, int64_t rows, int64_t k, int64_t depth, float* a) const {
    if (p_.a.transposed) {
      for (int64_t d = 0; d < depth; ++d) copy_row(p_.a.data + (k + d) * p_.a.stride + i, rows, a + d * rows);
      return;
    }
    for_each_stretch(k, k + depth, depth_pixels_, p_.a.image_step,
                     [&](int64_t first, int64_t count, int64_t offset) {
                       transpose(p_.a.data + i * p_.a.stride + offset, p_.a.stride, a + (first - k) * rows,
                                 rows, rows, count);
                     });
  }

  // Two copies of a fixed size, which may overlap, are faster than one of any.
  static void copy_row(const float* from, int64_t count, float* to) {
    constexpr int64_t kHalf = 8;
    if (count < kHalf || count > 2 * kHalf) {
      std::copy_n(from, count, to);
      return;
    }
    std::memcpy(to, from, kHalf * kFloat);
    std::memcpy(to + count - kHalf, from + count - kHalf, kHalf * kFloat);
  }

  // b[panel][depth][columns of the panel]
  void pack_b(int64_t j, int64_t columns, int64_t k, int64_t depth, float* b) const {
    if (p_.b.transposed) {
      for (int64_t c = 0; c < columns; c += panel_)
        for_each_stretch(k, k + depth, depth_pixels_, p_.b.image_step,
                         [&](int64_t first, int64_t count, int64_t offset) {
                           transpose(p_.b.data + (j + c) * p_.b.stride + offset, p_.b.stride,
                                     b + c / panel_ * panel_step(depth) + (first - k) * panel_, panel_,
                                     std::min(panel_, columns - c), count);
                         });
      return;
    }
    for_each_stretch(j, j + columns, column_pixels_, p_.b.image_step,
                     [&](int64_t first, int64_t count, int64_t offset) {
                       for (int64_t d = 0; d < depth; ++d)
                         copy_to_panels(p_.b.data + (k + d) * p_.b.stride + offset, count, first - j,
                                        panel_step(depth), b + d * panel_);
                     });
  }

  // One row of B from column `at` of the block on.
  void copy_to_panels(const float* from, int64_t count, int64_t at, int64_t step, float* to) const {
    for (const int64_t end = at + count; at < end;) {
      const int64_t lane = at % panel_, width = std::min(panel_ - lane, end - at);
      float* const start = to + at / panel_ * step + lane;
      if (width == kWidest)  // a size that the compiler knows
        std::memcpy(start, from, kWidest * kFloat);
      else
        std::copy_n(from, width, start);
      from += width;
      at += width;
    }
  }

  void multiply(const float* a, int64_t i, int64_t rows, const float* b, int64_t j, int64_t columns,
                int64_t depth, GemmMode mode, float* tile) const {
    for (int64_t first = j; first < j + columns; first += panel_, b += panel_step(depth)) {
      const int64_t width = std::min(panel_, j + columns - first);
      if (c_transposed_) {
        gemm_columns(a, rows, b, tile, panel_, rows, panel_, depth, GemmMode::overwrite);
        store_transposed(tile, rows, width, mode, p_.c + first * p_.c_stride + i);
        continue;
      }
      float* const c = p_.c + i * p_.c_stride;
      const int64_t image = column_pixels_ == 0 ? 0 : first / column_pixels_;
      const int64_t pixel = first - image * column_pixels_;
      if (column_pixels_ == 0 || pixel + width <= column_pixels_) {
        gemm_columns(a, rows, b, c + image * p_.c_image_step + pixel, p_.c_stride, rows, width, depth, mode);
        continue;
      }
      // Several images share this panel.
      gemm_columns(a, rows, b, tile, panel_, rows, panel_, depth, GemmMode::overwrite);
      for_each_stretch(first, first + width, column_pixels_, p_.c_image_step,
                       [&](int64_t begin, int64_t count, int64_t offset) {
                         for (int64_t row = 0; row < rows; ++row)
                           store(tile + row * panel_ + begin - first, count, mode,
                                 c + row * p_.c_stride + offset);
                       });
    }
  }

  void store_transposed(float* tile, int64_t rows, int64_t columns, GemmMode mode, float* to) const {
    if (mode == GemmMode::overwrite) {
      transpose(tile, panel_, to, p_.c_stride, rows, columns);
      return;
    }
    float* const turned = tile + tile_floats() / 2;
    transpose(tile, panel_, turned, rows, rows, columns);
    for (int64_t column = 0; column < columns; ++column)
      store(turned + column * rows, rows, mode, to + column * p_.c_stride);
  }

  static void store(const float* from, int64_t count, GemmMode mode, float* to) {
    if (mode == GemmMode::overwrite)
      std::memcpy(to, from, count * kFloat);
    else
      for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  }

  const MatrixProduct p_;
  const bool c_transposed_;
  const int64_t most_rows_, panel_;
  const int64_t column_pixels_, depth_pixels_;  // 0 where images are no matter
  int64_t depth_ = 0, columns_ = 0;             // of a block
};

// How many of the threads share the rows, the rest the columns: such that the largest part is small, and
// nearly square.
int64_t threads_in_rows(const MatrixProduct& product, int64_t threads) {
  const GemmShape shape = gemm_shape();
  const auto cost = [&](int64_t in_rows) {
    const int64_t rows =
        ceil_div(ceil_div(product.rows, shape.rows_per_block), in_rows) * shape.rows_per_block;
    const int64_t panels = ceil_div(product.columns, shape.columns_per_panel);
    const int64_t columns = ceil_div(panels, threads / in_rows) * shape.columns_per_panel;
    // What is packed counts as much as some steps of the product.
    return rows * columns + 8 * (rows + columns);
  };
  int64_t best = 1;
  for (int64_t in_rows = 2; in_rows <= threads; ++in_rows)
    if (threads % in_rows == 0 && cost(in_rows) < cost(best)) best = in_rows;
  return best;
}

// The transpose of C as a product, its operands where they are.
MatrixProduct exchanged(MatrixProduct product) {
  std::swap(product.rows, product.columns);
  std::swap(product.a, product.b);
  product.a.transposed = !product.a.transposed;
  product.b.transposed = !product.b.transposed;
  return product;
}

// Columns that do not fill their last panel are multiplied in vain: 49 cost as much as 64. Rows are dealt out
// evenly.
bool better_exchanged(const MatrixProduct& product) {
  const int64_t panel = gemm_shape().columns_per_panel;
  return product.images != Images::in_columns && product.rows * round_up(product.columns, panel) * 20 >
                                                     product.columns * round_up(product.rows, panel) * 21;
}

class Packed final : public Gemm {
 public:
  std::string name() const override {
    const GemmShape shape = gemm_shape();
    return std::to_string(shape.rows_per_block) + "x" + std::to_string(shape.columns_per_panel);
  }
  bool takes_images() const override { return true; }
  int64_t scratch_bytes(int64_t cap) const override {
    int64_t panels = kMostPanels;
    while (panels > 1 && Part::scratch_floats(panels) * kFloat > cap) --panels;
    return round_up(Part::scratch_floats(panels) * kFloat, 64);
  }

  void multiply(const MatrixProduct& asked, float* scratch, int64_t scratch_bytes) const override {
    const bool exchange = better_exchanged(asked);
    const MatrixProduct product = exchange ? exchanged(asked) : asked;
    const Part part(product, exchange, scratch_bytes);
    if (omp_in_parallel()) return part.run(0, product.rows, 0, product.columns, scratch);
    const int64_t panel = gemm_shape().columns_per_panel, panels = ceil_div(product.columns, panel);
#pragma omp parallel
    {
      const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
      const int64_t in_rows = threads_in_rows(product, threads), in_columns = threads / in_rows;
      const int64_t row = thread / in_columns, column = thread % in_columns;
      const int64_t row_begin = row * product.rows / in_rows, row_end = (row + 1) * product.rows / in_rows;
      const int64_t begin = column * panels / in_columns * panel;
      const int64_t end = std::min((column + 1) * panels / in_columns * panel, product.columns);
      if (row_begin < row_end && begin < end)
        part.run(row_begin, row_end, begin, end, scratch + thread * (scratch_bytes / kFloat));
    }
  }
};

}  // namespace

const Gemm& packed() {
  static const Packed gemm;
  return gemm;
}

}  // namespace convscope::im2col_gemm
