// Our SGEMM: both operands are packed into the panels of algorithms/common/packed_gemm, a block of A for the
// second cache, a few panels of B for the first. The loops around the micro-kernel are those of Goto and van
// de Geijn, "Anatomy of high-performance matrix multiplication" (2008). Start at Part::run.
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
// A panel of B of this depth fills a first-level cache.
constexpr int64_t kMostDepth = 256;
// Panels of B that are multiplied together, more where they are less deep. With few C is written in short
// pieces, with many B leaves the first caches before it is used.
constexpr int64_t kGroupPanels = 3;
// Rows in a packed block of A: half of a second-level cache.
constexpr int64_t kMostRows = 504;

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
    const int64_t floats = scratch_bytes / kFloat;
    const int64_t panels = floats >= scratch_floats(kGroupPanels, kMostRows / 4) ? kGroupPanels : 1;
    group_floats_ = panels * deep_panel();
    // To add to a transposed C is slow.
    const int64_t most_depth = c_transposed ? panels * kMostDepth : kMostDepth;
    depth_ = ceil_div(p_.depth, ceil_div(p_.depth, most_depth));
    panels_ = group_floats_ / (depth_ * panel_);
    rows_ = (floats - scratch_floats(panels, 0)) / depth_;
  }

  // Panels of B, rows of A, tiles of C.
  static int64_t scratch_floats(int64_t panels, int64_t rows) {
    return tile_floats() + panels * deep_panel() + rows * kMostDepth;
  }

  void run(int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end,
           float* scratch) const {
    float* const tile = scratch;
    float* const b = tile + tile_floats();
    float* const a = b + group_floats_;
    const int64_t row_step = ceil_div(row_end - row_begin, ceil_div(row_end - row_begin, rows_));
    for (int64_t k = 0; k < p_.depth; k += depth_)
      for (int64_t i = row_begin; i < row_end; i += row_step) {
        const Block block{i, std::min(row_step, row_end - i), k, std::min(depth_, p_.depth - k)};
        pack_a(block, a);
        for (int64_t j = column_begin; j < column_end; j += panels_ * panel_) {
          const int64_t columns = std::min(panels_ * panel_, column_end - j);
          pack_b(j, columns, k, block.depth, b);
          for (int64_t n = 0; n < blocks(block); ++n)
            multiply(block, rows_of(block, n), a, b, j, columns, ahead(block, j, columns, n * panels_), tile);
        }
      }
  }

 private:
  // Rows [row, row + rows) of A at the depth [k, k + depth).
  struct Block {
    int64_t row, rows, k, depth;
  };
  struct Rows {
    int64_t begin, count;  // in the block
  };
  int64_t blocks(const Block& block) const { return ceil_div(block.rows, most_rows_); }
  // Of register block `n`; they are dealt out evenly.
  Rows rows_of(const Block& block, int64_t n) const {
    const int64_t begin = n * block.rows / blocks(block);
    return {begin, (n + 1) * block.rows / blocks(block) - begin};
  }

  // A tile of C, and once more turned.
  static int64_t tile_floats() {
    return 2 * round_up(gemm_shape().rows_per_block * gemm_shape().columns_per_panel, 16);
  }
  static int64_t deep_panel() { return kMostDepth * gemm_shape().columns_per_panel; }

  // a[register block][depth][row]
  void pack_a(const Block& block, float* a) const {
    const int64_t count = blocks(block);
    const auto packed = [&](const Rows& rows, int64_t d) {
      return a + rows.begin * block.depth + d * rows.count;
    };
    if (p_.a.transposed) {
      for (int64_t d = 0; d < block.depth; ++d)
        for (int64_t n = 0; n < count; ++n) {
          const Rows rows = rows_of(block, n);
          copy_row(p_.a.data + (block.k + d) * p_.a.stride + block.row + rows.begin, rows.count,
                   packed(rows, d));
        }
      return;
    }
    for (int64_t n = 0; n < count; ++n) {
      const Rows rows = rows_of(block, n);
      for_each_stretch(block.k, block.k + block.depth, depth_pixels_, p_.a.image_step,
                       [&](int64_t first, int64_t length, int64_t offset) {
                         transpose(p_.a.data + (block.row + rows.begin) * p_.a.stride + offset, p_.a.stride,
                                   packed(rows, first - block.k), rows.count, rows.count, length);
                       });
    }
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

  // b[panel][depth][column]
  void pack_b(int64_t j, int64_t columns, int64_t k, int64_t depth, float* b) const {
    if (p_.b.transposed) {
      for (int64_t c = 0; c < columns; c += panel_, b += depth * panel_)
        for_each_stretch(k, k + depth, depth_pixels_, p_.b.image_step,
                         [&](int64_t first, int64_t count, int64_t offset) {
                           transpose(p_.b.data + (j + c) * p_.b.stride + offset, p_.b.stride,
                                     b + (first - k) * panel_, panel_, std::min(panel_, columns - c), count);
                         });
      return;
    }
    for_each_stretch(j, j + columns, column_pixels_, p_.b.image_step,
                     [&](int64_t first, int64_t count, int64_t offset) {
                       copy_to_panels(p_.b.data + k * p_.b.stride + offset, count, first - j, depth, b);
                     });
  }

  // `count` columns of B from column `at` of the group on.
  void copy_to_panels(const float* from, int64_t count, int64_t at, int64_t depth, float* to) const {
    for (const int64_t end = at + count; at < end;) {
      const int64_t lane = at % panel_, width = std::min(panel_ - lane, end - at);
      copy_rows(from, p_.b.stride, to + (at - lane) * depth + lane, panel_, depth, width);
      from += width;
      at += width;
    }
  }

  // The rows that pack_b() will read next, from line `line` on: they are too far apart for the hardware to
  // guess.
  Ahead ahead(const Block& block, int64_t j, int64_t columns, int64_t line) const {
    constexpr int64_t kLine = 16;
    const int64_t next = j + columns + line * kLine;
    if (p_.b.transposed || next >= std::min(j + 2 * columns, p_.columns)) return {p_.b.data, 0};
    const int64_t image = column_pixels_ == 0 ? 0 : next / column_pixels_;
    return {p_.b.data + block.k * p_.b.stride + image * p_.b.image_step + next - image * column_pixels_,
            p_.b.stride};
  }

  // One register block of rows times a group of panels.
  void multiply(const Block& block, const Rows& rows, const float* a, const float* b, int64_t j,
                int64_t columns, Ahead ahead, float* tile) const {
    const GemmMode mode = block.k > 0 || p_.accumulate ? GemmMode::add : GemmMode::overwrite;
    const int64_t i = block.row + rows.begin, depth = block.depth;
    a += rows.begin * depth;
    float* const c = p_.c + i * p_.c_stride;
    if (!c_transposed_ && column_pixels_ == 0) {
      gemm_columns(a, rows.count, {b}, c + j, p_.c_stride, rows.count, columns, depth, mode, ahead);
      return;
    }
    for (const int64_t end = j + columns; j < end;
         j += panel_, b += depth * panel_, ahead.from += panel_ / 2) {
      const int64_t width = std::min(panel_, end - j);
      const auto product = [&](float* to, int64_t stride, int64_t count, GemmMode how) {
        gemm_columns(a, rows.count, {b}, to, stride, rows.count, count, depth, how, ahead);
      };
      if (c_transposed_) {
        for (int64_t column = j; column < j + width; ++column)
          __builtin_prefetch(p_.c + column * p_.c_stride + i, 1);
        product(tile, panel_, panel_, GemmMode::overwrite);
        store_transposed(tile, rows.count, width, mode, p_.c + j * p_.c_stride + i);
        continue;
      }
      const int64_t image = j / column_pixels_, pixel = j % column_pixels_;
      if (pixel + width <= column_pixels_) {
        product(c + image * p_.c_image_step + pixel, p_.c_stride, width, mode);
        continue;
      }
      // Several images share this panel.
      product(tile, panel_, panel_, GemmMode::overwrite);
      for_each_stretch(
          j, j + width, column_pixels_, p_.c_image_step, [&](int64_t first, int64_t count, int64_t offset) {
            for (int64_t row = 0; row < rows.count; ++row)
              store(tile + row * panel_ + first - j, count, mode, c + row * p_.c_stride + offset);
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
  int64_t depth_ = 0, rows_ = 0;                // of a block of A, at most
  int64_t panels_ = 0, group_floats_ = 0;       // of a group of panels
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

// Columns that do not fill their last panel are multiplied in vain: 49 cost as much as 64, while rows are
// dealt out evenly. Both ways in multiply-adds of vectors, a step of the depth: a row of A is packed for
// about 0.6, one of B for 0.2 or where it is turned 0.6 too, and a vector of C turned for 12.
bool better_exchanged(const MatrixProduct& product) {
  if (product.images == Images::in_columns) return false;
  const auto count = [](int64_t rows, int64_t columns) {
    const GemmShape shape = gemm_shape();
    const int64_t vectors = round_up(columns, shape.columns_per_panel) * 2 / shape.columns_per_panel;
    return static_cast<double>(rows * vectors) + 0.6 * static_cast<double>(rows);
  };
  const int64_t rows = product.rows, columns = product.columns;
  const double turned = 12.0 / 16 * static_cast<double>(rows * columns) / static_cast<double>(product.depth);
  return count(columns, rows) + 0.6 * static_cast<double>(rows) + turned <
         count(rows, columns) + 0.2 * static_cast<double>(columns);
}

class Packed final : public Gemm {
 public:
  std::string name() const override {
    const GemmShape shape = gemm_shape();
    return std::to_string(shape.rows_per_block) + "x" + std::to_string(shape.columns_per_panel);
  }
  bool takes_images() const override { return true; }
  int64_t scratch_bytes(int64_t cap) const override {
    const int64_t least = Part::scratch_floats(1, gemm_shape().rows_per_block) * kFloat;
    return round_up(std::clamp(cap, least, Part::scratch_floats(kGroupPanels, kMostRows) * kFloat), 64);
  }

  void multiply(const MatrixProduct& asked, int most_threads, float* scratch,
                int64_t scratch_bytes) const override {
    const bool exchange = better_exchanged(asked);
    const MatrixProduct product = exchange ? exchanged(asked) : asked;
    const Part part(product, exchange, scratch_bytes);
    if (omp_in_parallel()) return part.run(0, product.rows, 0, product.columns, scratch);
    const int64_t panel = gemm_shape().columns_per_panel, panels = ceil_div(product.columns, panel);
#pragma omp parallel num_threads(most_threads)
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
