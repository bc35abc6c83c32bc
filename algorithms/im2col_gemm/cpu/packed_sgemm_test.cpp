// Our SGEMM by itself, on whole numbers, whose products are exact: operands as they are and transposed, read
// in place and packed, split into rows, columns and depths, with much scratch and with little. The matrices
// have exactly the bytes they need, so that the address sanitizer sees what is read beyond them.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"

namespace convscope::im2col_gemm {
namespace {

struct ProductSize {
  int64_t rows, columns, depth;
};

// A matrix of `rows` x `columns`, stored or its transpose, `spare` elements between its rows.
struct ExactMatrix {
  ExactMatrix(int64_t rows, int64_t columns, bool is_transposed, int64_t spare, std::mt19937& random)
      : transposed(is_transposed), stride((is_transposed ? rows : columns) + spare) {
    const int64_t lines = is_transposed ? columns : rows;
    data.resize(static_cast<size_t>(lines * stride - spare));
    for (float& value : data) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  }
  float at(int64_t row, int64_t column) const {
    return data[static_cast<size_t>(transposed ? column * stride + row : row * stride + column)];
  }
  Operand operand() const { return {data.data(), stride, transposed}; }

  bool transposed;
  int64_t stride;
  std::vector<float> data;
};

// One product, whose result is computed once, to be had on any number of threads and in any scratch memory.
class ExactProduct {
 public:
  ExactProduct(const ProductSize& shape, bool a_transposed, bool b_transposed, bool accumulate, int64_t spare)
      : shape_(shape), accumulate_(accumulate) {
    what_ = std::to_string(shape.rows) + "x" + std::to_string(shape.columns) + "x" +
            std::to_string(shape.depth) + (a_transposed ? " A^T" : " A") + (b_transposed ? " B^T " : " B ");
    std::mt19937 random(3);
    a_.emplace(shape.rows, shape.depth, a_transposed, spare, random);
    b_.emplace(shape.depth, shape.columns, b_transposed, spare, random);
    before_.emplace(shape.rows, shape.columns, false, spare, random);
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t column = 0; column < shape.columns; ++column) {
        float sum = accumulate ? before_->at(row, column) : 0;
        for (int64_t k = 0; k < shape.depth; ++k) sum += a_->at(row, k) * b_->at(k, column);
        expected_.push_back(sum);
      }
  }

  void expect_exact(int threads, int64_t cap) const {
    SCOPED_TRACE(what_ + std::to_string(threads) + " threads");
    ExactMatrix c = *before_;
    const int64_t bytes = packed().scratch_bytes(cap);
    std::vector<float> scratch(static_cast<size_t>(threads * bytes) / sizeof(float),
                               std::numeric_limits<float>::quiet_NaN());
    packed().multiply({.rows = shape_.rows,
                       .columns = shape_.columns,
                       .depth = shape_.depth,
                       .a = a_->operand(),
                       .b = b_->operand(),
                       .c = c.data.data(),
                       .c_stride = c.stride,
                       .accumulate = accumulate_},
                      threads, scratch.data(), bytes);
    for (int64_t row = 0; row < shape_.rows; ++row) {
      for (int64_t column = 0; column < shape_.columns; ++column)
        ASSERT_EQ(c.at(row, column), expected_[static_cast<size_t>(row * shape_.columns + column)])
            << row << ", " << column;
      for (int64_t i = shape_.columns; i < c.stride && row + 1 < shape_.rows; ++i)
        ASSERT_EQ(c.at(row, i), before_->at(row, i)) << "written past row " << row;
    }
  }

 private:
  ProductSize shape_;
  bool accumulate_;
  std::string what_;
  std::optional<ExactMatrix> a_, b_, before_;
  std::vector<float> expected_;
};

void expect_exact_however_it_lies(const ProductSize& shape, int64_t spare) {
  for (const bool a_transposed : {false, true})
    for (const bool b_transposed : {false, true})
      for (const bool accumulate : {false, true}) {
        const ExactProduct product(shape, a_transposed, b_transposed, accumulate, spare);
        for (const int threads : {1, 2, 3})
          for (const int64_t cap : {0, 1 << 24}) product.expect_exact(threads, cap);
      }
}

TEST(PackedSgemm, IsExactOnOddSizes) {
  for (const ProductSize& shape :
       {ProductSize{1, 1, 1}, ProductSize{13, 5, 3}, ProductSize{15, 33, 7}, ProductSize{3, 63, 20},
        ProductSize{29, 49, 65}, ProductSize{31, 16, 40}, ProductSize{90, 131, 11}, ProductSize{90, 1, 33},
        ProductSize{90, 26, 70}, ProductSize{90, 24, 7}})
    for (const int64_t spare : {0, 3}) expect_exact_however_it_lies(shape, spare);
}

// On several threads, C is smaller than the operands by far.
TEST(PackedSgemm, IsExactWhereTheDepthIsSplit) {
  expect_exact_however_it_lies({32, 49, 833}, 0);
  expect_exact_however_it_lies({17, 16, 601}, 5);
}

TEST(PackedSgemm, IsExactOnSeveralBlocksOfRowsAndGroupsOfColumns) {
  expect_exact_however_it_lies({330, 333, 27}, 1);  // more columns than rows are read in place for
}

// Each row is a vector that is multiplied with the whole of B: whole groups of registers and a rest, more
// vectors than are taken together, and lengths that end within a vector.
TEST(PackedSgemm, IsExactWhereFewRowsMeetB) {
  for (const int64_t rows : {1, 2, 4, 5, 8, 9, 16}) {
    expect_exact_however_it_lies({rows, 70, 135}, 3);
    expect_exact_however_it_lies({rows, 16, 48}, 0);
  }
  expect_exact_however_it_lies({9, 5, 66000}, 0);  // more than a block in one row
}

// Columns of three images that are apart in memory, in one product and, where pixels fill their vectors, in
// one for each.
void expect_images_in_columns(int64_t rows, int64_t pixels, int64_t depth, bool a_transposed, int threads) {
  SCOPED_TRACE(std::to_string(rows) + "x3x" + std::to_string(pixels) + "x" + std::to_string(depth) +
               (a_transposed ? " A^T " : " A ") + std::to_string(threads) + " threads");
  constexpr int64_t kImages = 3;
  std::mt19937 random(4);
  const ExactMatrix a(rows, depth, a_transposed, 0, random);
  std::vector<ExactMatrix> b, c;
  for (int image = 0; image < kImages; ++image) {
    b.emplace_back(depth, pixels, false, 0, random);
    c.emplace_back(rows, pixels, false, 0, random);
  }
  // One behind the other with a gap.
  const int64_t b_step = depth * pixels + 7, c_step = rows * pixels + 5;
  std::vector<float> all_b(static_cast<size_t>(kImages * b_step)),
      all_c(static_cast<size_t>(kImages * c_step));
  for (size_t image = 0; image < kImages; ++image)
    std::copy(b[image].data.begin(), b[image].data.end(),
              all_b.begin() + static_cast<int64_t>(image) * b_step);
  const int64_t bytes = packed().scratch_bytes(1 << 20);
  std::vector<float> scratch(static_cast<size_t>(threads * bytes) / sizeof(float),
                             std::numeric_limits<float>::quiet_NaN());
  packed().multiply({.rows = rows,
                     .columns = kImages * pixels,
                     .depth = depth,
                     .a = a.operand(),
                     .b = {all_b.data(), pixels, false, b_step},
                     .c = all_c.data(),
                     .c_stride = pixels,
                     .images = Images::in_columns,
                     .image_pixels = pixels,
                     .c_image_step = c_step},
                    threads, scratch.data(), bytes);
  for (size_t image = 0; image < kImages; ++image)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += a.at(row, k) * b[image].at(k, pixel);
        ASSERT_EQ(all_c[image * static_cast<size_t>(c_step) + static_cast<size_t>(row * pixels + pixel)], sum)
            << image << ", " << row << ", " << pixel;
      }
}

TEST(PackedSgemm, IsExactOnImagesThatAreApart) {
  for (const int64_t pixels : {5, 9, 16, 33, 64, 196})
    for (const bool a_transposed : {false, true})
      for (const int threads : {1, 2, 3}) {
        expect_images_in_columns(19, pixels, 30, a_transposed, threads);
        expect_images_in_columns(5, pixels, 300, a_transposed, threads);
      }
}

TEST(PackedSgemm, SumsAnImageThatIsApartAsItDoesByItself) {
  const MatrixProduct alone{
      .rows = 64, .columns = 16, .depth = 1000, .a = {nullptr, 1000}, .b = {nullptr, 16}};
  MatrixProduct apart = alone;  // 512 columns, too many to read all rows in place
  apart.columns = 32 * alone.columns;
  apart.images = Images::in_columns;
  apart.image_pixels = alone.columns;
  const int64_t scratch = packed().scratch_bytes(1 << 20);
  EXPECT_EQ(packed().levels(apart, scratch).longest(), packed().levels(alone, scratch).longest());
}

// Neither operand is packed, and a second part of the depth is added to the first.
TEST(PackedSgemm, IsExactWhereRowsMeetMoreColumnsThanACacheHolds) {
  ExactProduct({37, 150, 900}, false, false, false, 0).expect_exact(1, 0);
  ExactProduct({37, 150, 900}, false, false, true, 3).expect_exact(2, 0);
}

TEST(PackedSgemm, IsExactOnEveryInstructionSet) {
  for_each_target([] {
    expect_exact_however_it_lies({15, 49, 40}, 0);
    expect_exact_however_it_lies({20, 5, 300}, 2);
    expect_exact_however_it_lies({70, 150, 70}, 3);
    expect_exact_however_it_lies({70, 1, 33}, 0);
    for (const int64_t rows : {1, 3, 7}) expect_exact_however_it_lies({rows, 41, 53}, 1);
  });
}

TEST(PackedSgemm, IsExactInsideAParallelRegion) {
#pragma omp parallel num_threads(2)
  ExactProduct({20, 40, 500}, false, false, false, 0).expect_exact(1, 1 << 24);
}

}  // namespace
}  // namespace convscope::im2col_gemm
