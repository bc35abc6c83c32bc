// Our SGEMM on the emulator: both operands as they are and transposed, each tile, batches, splits of the
// depth and sums added to C, on whole numbers, whose products are exact. And how a product is tiled and
// split.
#include "algorithms/im2col_gemm/cuda/sgemm.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"

namespace convscope::im2col_gemm {
namespace {

struct Shape {
  int rows, columns, depth, batch;
  int spare;  // elements behind each row
};

std::vector<float> whole_numbers(int64_t count, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return values;
}

class Sgemm : public ::testing::TestWithParam<EmulatorOrder> {
 protected:
  Sgemm() : device_({.order = GetParam(), .seed = 3}), queue_(device_.make_queue()) {}

  Buffer on_device(const std::vector<float>& values) {
    Buffer buffer(device_, values.size() * sizeof(float));
    buffer.upload(values.data(), buffer.bytes());
    return buffer;
  }

  void expect_exact(const Shape& s, MatrixOp a_op, MatrixOp b_op, SgemmSplit split, float beta) {
    SCOPED_TRACE(std::to_string(s.rows) + "x" + std::to_string(s.columns) + "x" + std::to_string(s.depth) +
                 " in tiles of " + std::to_string(split.columns) + ", " + std::to_string(split.splits) +
                 " splits");
    SgemmProduct p;
    p.rows = s.rows;
    p.columns = s.columns;
    p.depth = s.depth;
    p.batch = s.batch;
    p.beta = beta;
    const bool a_transposed = a_op == MatrixOp::transpose, b_transposed = b_op == MatrixOp::transpose;
    const int64_t a_rows = a_transposed ? s.depth : s.rows, b_rows = b_transposed ? s.columns : s.depth;
    p.a = {nullptr, (a_transposed ? s.rows : s.depth) + s.spare, 0, a_op};
    p.b = {nullptr, (b_transposed ? s.depth : s.columns) + s.spare, 0, b_op};
    p.c = {nullptr, s.columns + s.spare, 0};
    p.a.batch_stride = a_rows * p.a.stride;
    p.b.batch_stride = b_rows * p.b.stride;
    p.c.batch_stride = s.rows * p.c.stride;
    const std::vector<float> a = whole_numbers(s.batch * p.a.batch_stride, random_),
                             b = whole_numbers(s.batch * p.b.batch_stride, random_),
                             c = whole_numbers(s.batch * p.c.batch_stride, random_);
    const Buffer a_device = on_device(a), b_device = on_device(b), c_device = on_device(c);
    Buffer partials(device_, static_cast<size_t>(partial_bytes(p, split)));
    partials.fill_with_nan();
    p.a.data = a_device.as<float>();
    p.b.data = b_device.as<float>();
    p.c.data = c_device.as<float>();
    emulated::sgemm(p, split, partials.as<float>(), *queue_);

    std::vector<float> result(c.size());
    c_device.download(result.data(), result.size() * sizeof(float));
    for (int64_t i = 0; i < s.batch; ++i)
      for (int64_t row = 0; row < s.rows; ++row)
        for (int64_t column = 0; column < p.c.stride; ++column) {
          const auto at = static_cast<size_t>(i * p.c.batch_stride + row * p.c.stride + column);
          float sum = column < s.columns ? beta * c[at] : c[at];
          for (int64_t k = 0; column < s.columns && k < s.depth; ++k)
            sum += a[static_cast<size_t>(i * p.a.batch_stride +
                                         (a_transposed ? k * p.a.stride + row : row * p.a.stride + k))] *
                   b[static_cast<size_t>(i * p.b.batch_stride +
                                         (b_transposed ? column * p.b.stride + k : k * p.b.stride + column))];
          ASSERT_EQ(result[at], sum) << "matrix " << i << ", " << row << ", " << column;
        }
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  std::mt19937 random_{11};
};

constexpr MatrixOp kOps[] = {MatrixOp::none, MatrixOp::transpose};

// More than a tile each way, or less than one; the rows are the longer side, or not.
constexpr Shape kProducts[] = {{131, 37, 21, 1, 0}, {3, 150, 9, 2, 1}, {1, 1, 1, 3, 0}, {140, 132, 8, 1, 0}};

TEST_P(Sgemm, IsExactInEveryTileWithEitherOperandTransposed) {
  for (const Shape& shape : kProducts)
    for (const MatrixOp a : kOps)
      for (const MatrixOp b : kOps)
        for (const int columns : kSgemmColumns)
          expect_exact(shape, a, b, {columns, 1, (shape.depth + 7) / 8 * 8}, 0);
}

TEST_P(Sgemm, AddsToC) {
  for (const Shape& shape : kProducts)
    expect_exact(shape, MatrixOp::none, MatrixOp::none, {64, 1, (shape.depth + 7) / 8 * 8}, 1);
}

TEST_P(Sgemm, AddsTheSplitsOfTheDepth) {
  for (const float beta : {0.0F, 1.0F})
    for (const int spare : {0, 4})
      expect_exact({12, 20, 61, 2, spare}, MatrixOp::transpose, MatrixOp::none, {32, 4, 16}, beta);
}

INSTANTIATE_TEST_SUITE_P(Orders, Sgemm, ::testing::ValuesIn(kEveryOrder), order_name);

SgemmProduct sized(int rows, int columns, int depth) {
  SgemmProduct product;
  product.rows = rows;
  product.columns = columns;
  product.depth = depth;
  return product;
}

TEST(SgemmSplit, SplitsTheDepthOfAFewTilesOnly) {
  EXPECT_EQ(choose_split(sized(1 << 15, 256, 1024), INT64_MAX).splits, 1);
  const SgemmSplit deep = choose_split(sized(128, 128, 1 << 15), INT64_MAX);
  EXPECT_GT(deep.splits, 20);
  EXPECT_EQ(deep.split_depth % kSgemmDepth, 0);
  EXPECT_LT((deep.splits - 1) * deep.split_depth, 1 << 15);  // none is empty
}

TEST(SgemmSplit, KeepsItsPartialSumsUnderTheCap) {
  const SgemmProduct product = sized(300, 500, 1 << 14);
  for (const int64_t cap : {int64_t{0}, int64_t{1} << 20, int64_t{1} << 23})
    EXPECT_LE(partial_bytes(product, choose_split(product, cap)), cap);
  EXPECT_EQ(choose_split(product, 0).splits, 1);
}

TEST(SgemmSplit, TakesNarrowTilesForFewChannels) {
  EXPECT_EQ(choose_split(sized(32, 1 << 16, 512), INT64_MAX).columns, 32);
  EXPECT_EQ(choose_split(sized(1 << 16, 64, 512), INT64_MAX).columns, 64);
  EXPECT_EQ(choose_split(sized(1 << 16, 256, 512), INT64_MAX).columns, 128);
}

TEST(SgemmSplit, CountsWholeTiles) {
  const SgemmProduct product = sized(100, 130, 12);
  EXPECT_EQ(executed_flops(product, {128, 1, 16}), 2.0 * 256 * 128 * 16);
  EXPECT_EQ(executed_flops(product, {32, 1, 16}), 2.0 * 256 * 128 * 16);
  EXPECT_EQ(executed_flops(product, {64, 2, 8}), 2.0 * 256 * 128 * 16);
}

}  // namespace
}  // namespace convscope::im2col_gemm
