// The micro-kernel against f64 loops: odd sizes, the three modes, both orders of A, B packed and as
// it lies, every instruction set that this machine has. A and a B in rows have exactly the bytes they need,
// so that the address sanitizer sees what is read beyond them.
#include "algorithms/common/packed_gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/common/rounding.hpp"

namespace convscope {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct AlignedFree {
  void operator()(float* data) const { std::free(data); }
};
std::unique_ptr<float, AlignedFree> aligned(int64_t count) {
  const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
  return std::unique_ptr<float, AlignedFree>(static_cast<float*>(std::aligned_alloc(64, bytes)));
}

enum class AOrder { rows, columns, blocks };
enum class BOrder { panels, rows };

struct Sizes {
  int64_t rows, columns, depth;
};

struct Product {
  Product(const Sizes& s, AOrder order_of_a, BOrder order_of_b)
      : sizes(s), order(order_of_a), b_order(order_of_b) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    a.resize(s.rows * s.depth);
    b.resize(s.depth * s.columns);
    for (float& x : a) x = uniform(random);
    for (float& x : b) x = uniform(random);
    pack();
  }

  // The parts of the panels that are not used hold NaN.
  void pack() {
    const int64_t nr = gemm_shape().columns_per_panel;
    const auto [rows, columns, depth] = sizes;
    a_stride = order == AOrder::rows ? depth + 3 : order == AOrder::columns ? rows + 5 : 0;
    const int64_t lines = order == AOrder::rows ? rows : depth;
    const int64_t last_line = order == AOrder::rows ? depth : order == AOrder::columns ? rows : rows * depth;
    a_ordered.assign((lines - 1) * a_stride + last_line, kNan);
    b_stride = columns + 3;
    b_rows.assign((depth - 1) * b_stride + columns, kNan);
    b_panels = aligned(round_up(columns, nr) * depth);
    std::fill_n(b_panels.get(), round_up(columns, nr) * depth, kNan);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < depth; ++k) a_ordered[a_index(i, k)] = a[i * depth + k];
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < depth; ++k)
        b_panels.get()[j / nr * nr * depth + k * nr + j % nr] = b_rows[k * b_stride + j] = b[k * columns + j];
  }

  int64_t a_index(int64_t row, int64_t k) const {
    if (order == AOrder::rows) return row * a_stride + k;
    if (order == AOrder::columns) return k * a_stride + row;
    const int64_t blocks = ceil_div(sizes.rows, int64_t{gemm_shape().rows_per_block});
    int64_t n = 0;
    while ((n + 1) * sizes.rows / blocks <= row) ++n;
    const int64_t begin = n * sizes.rows / blocks, end = (n + 1) * sizes.rows / blocks;
    return begin * sizes.depth + k * (end - begin) + row - begin;
  }

  void run(float* c, int64_t c_stride, GemmMode mode, Prefetch prefetch = {}) const {
    const auto [rows, columns, depth] = sizes;
    const float* const x = a_ordered.data();
    const GemmPanels y =
        b_order == BOrder::panels ? GemmPanels{b_panels.get()} : GemmPanels{b_rows.data(), b_stride};
    if (order == AOrder::rows)
      gemm_rows(x, a_stride, y, c, c_stride, rows, columns, depth, mode, prefetch);
    else
      gemm_columns(x, a_stride, y, c, c_stride, rows, columns, depth, mode, prefetch);
  }

  double exact(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t k = 0; k < sizes.depth; ++k)
      sum += double{a[i * sizes.depth + k]} * b[k * sizes.columns + j];
    return sum;
  }

  Sizes sizes;
  AOrder order;
  BOrder b_order;
  int64_t a_stride = 0, b_stride = 0;
  std::vector<float> a, b, a_ordered, b_rows;
  std::unique_ptr<float, AlignedFree> b_panels;
};

void expect_right(const Sizes& sizes, AOrder order, BOrder b_order, GemmMode mode) {
  SCOPED_TRACE(testing::Message() << sizes.rows << "x" << sizes.columns << "x" << sizes.depth << " order "
                                  << static_cast<int>(order) << static_cast<int>(b_order) << " mode "
                                  << static_cast<int>(mode));
  const Product product(sizes, order, b_order);
  const int64_t stride = sizes.columns + 3;
  const float before = mode == GemmMode::overwrite ? kNan : 2.5f;
  std::vector<float> c(sizes.rows * stride, before);
  product.run(c.data(), stride, mode);
  std::vector<float> unprefetched(c.size(), before);
  product.run(unprefetched.data(), stride, mode, {product.a.data(), 0});
  ASSERT_EQ(std::memcmp(c.data(), unprefetched.data(), c.size() * sizeof(float)), 0);
  for (int64_t i = 0; i < sizes.rows; ++i) {
    for (int64_t j = 0; j < sizes.columns; ++j) {
      const double exact = product.exact(i, j);
      const double expected = mode == GemmMode::overwrite ? exact
                              : mode == GemmMode::add     ? 2.5 + exact
                                                          : 2.5 - exact;
      ASSERT_NEAR(c[i * stride + j], expected, 1e-6 * static_cast<double>(sizes.depth + 8)) << i << "," << j;
    }
    for (int64_t j = sizes.columns; j < stride; ++j) {
      const float beyond = c[i * stride + j];
      ASSERT_TRUE(std::isnan(before) ? std::isnan(beyond) : beyond == before) << "written past row " << i;
    }
  }
}

void expect_right(const Sizes& sizes, AOrder order, GemmMode mode) {
  for (const BOrder b_order : {BOrder::panels, BOrder::rows}) expect_right(sizes, order, b_order, mode);
}

constexpr AOrder kOrders[] = {AOrder::rows, AOrder::columns, AOrder::blocks};
constexpr GemmMode kModes[] = {GemmMode::overwrite, GemmMode::add, GemmMode::subtract};

TEST(PackedGemm, MatchesDoubleLoopsAtEverySizeUpToTwoBlocks) {
  for_each_target([] {
    const int64_t most_rows = 2 * gemm_shape().rows_per_block + 1;
    const int64_t panel = gemm_shape().columns_per_panel;
    for (int64_t rows = 1; rows <= most_rows; ++rows)
      for (const int64_t columns :
           {int64_t{1}, panel - 1, panel, 3 * panel / 2, 2 * panel - 1, 2 * panel + 1})
        for (const AOrder order : kOrders) expect_right({rows, columns, 5}, order, GemmMode::overwrite);
  });
}

TEST(PackedGemm, AddsToAndSubtractsFromWhatIsThere) {
  for_each_target([] {
    for (const Sizes& sizes : {Sizes{1, 1, 1}, Sizes{15, 33, 7}, Sizes{28, 64, 3}})
      for (const AOrder order : kOrders)
        for (const GemmMode mode : kModes) expect_right(sizes, order, mode);
  });
}

TEST(PackedGemm, SumsOverALongDepth) {
  for_each_target([] {
    for (const AOrder order : kOrders) expect_right({17, 40, 700}, order, GemmMode::add);
  });
}

}  // namespace
}  // namespace convscope
