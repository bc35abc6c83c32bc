// Every size around the blocks, in every instruction set, with nothing written beside the result.
#include "algorithms/common/transpose.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "algorithms/common/each_target.hpp"

namespace convscope {
namespace {

void expect_transposed(int64_t rows, int64_t columns, int64_t gap = 2, int64_t gap_in = 3) {
  const int64_t in_step = columns + gap_in, out_step = rows + gap;
  std::vector<float> in(rows * in_step), out(columns * out_step, -1.0f);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  transpose(in.data(), in_step, out.data(), out_step, rows, columns);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < out_step; ++row)
      ASSERT_EQ(out[column * out_step + row], row < rows ? in[row * in_step + column] : -1.0f)
          << rows << " x " << columns << " at " << row << ", " << column;
}

TEST(Transpose, MovesEveryElementAndNothingElse) {
  for_each_target([] {
    for (int64_t rows : {1, 3, 4, 5, 7, 8, 9, 14, 15, 16, 17, 31, 32, 40})
      for (int64_t columns : {1, 2, 4, 6, 8, 13, 16, 17, 18, 19, 32, 35, 49})
        expect_transposed(rows, columns);
  });
}

TEST(Transpose, TakesFewTapsWithoutGaps) {
  for_each_target([] {
    for (int64_t rows : {1, 3, 4, 15, 16, 17, 32, 50})
      for (int64_t columns : {1, 2, 3, 4, 7}) expect_transposed(rows, columns, 2, 0);
  });
}

TEST(Transpose, LeavesNoGapsBetweenFewChannels) {
  for_each_target([] {
    for (int64_t rows : {1, 2, 3, 4})
      for (int64_t columns : {1, 2, 15, 16, 17, 47, 64}) expect_transposed(rows, columns, 0);
  });
}

void expect_copied(int64_t rows, int64_t columns) {
  const int64_t in_step = columns + 3, out_step = columns + 2;
  std::vector<float> in(rows * in_step), out(rows * out_step, -1.0f);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  copy_rows(in.data(), in_step, out.data(), out_step, rows, columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < out_step; ++column)
      ASSERT_EQ(out[row * out_step + column], column < columns ? in[row * in_step + column] : -1.0f)
          << rows << " x " << columns << " at " << row << ", " << column;
}

TEST(CopyRows, CopiesEveryElementAndNothingElse) {
  for_each_target([] {
    for (int64_t columns : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33}) expect_copied(6, columns);
  });
}

// The input has exactly the bytes that are read, so that the address sanitizer sees what is read beyond them.
void expect_copied_strided(int64_t every, const PaddedRow& shape) {
  constexpr int64_t kRows = 3;
  const int64_t width = shape.before + shape.columns + shape.after;
  const int64_t in_step = shape.columns * every + 3, out_step = width + 2;
  std::vector<float> in((kRows - 1) * in_step + (shape.columns - 1) * every + 1);
  std::vector<float> out(kRows * out_step, -1.0f);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
  copy_strided_rows(in.data(), in_step, every, out.data(), out_step, kRows, shape);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t i = 0; i < out_step; ++i) {
      const int64_t column = i - shape.before;
      const float expected = i >= width                              ? -1.0f
                             : column < 0 || column >= shape.columns ? 0.0f
                                                                     : in[row * in_step + column * every];
      ASSERT_EQ(out[row * out_step + i], expected)
          << "every " << every << ", row " << row << ", " << i << " of " << shape.before << " + "
          << shape.columns << " + " << shape.after;
    }
}

TEST(CopyStridedRows, CopiesEveryNthElementBetweenZerosAndNothingElse) {
  for_each_target([] {
    for (const int64_t every : {1, 2, 3, 4})
      for (const int64_t columns : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50})
        for (const int64_t before : {0, 1, 3, 17})
          for (const int64_t after : {0, 2, 19}) expect_copied_strided(every, {before, columns, after});
  });
}

// Both matrices have exactly the bytes that are touched.
void expect_spread(int64_t every, int64_t columns, bool add) {
  constexpr int64_t kRows = 3;
  const int64_t in_step = columns + 3, out_step = columns * every + 2;
  std::vector<float> in((kRows - 1) * in_step + columns);
  std::vector<float> out((kRows - 1) * out_step + (columns - 1) * every + 1, -1.0f);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
  (add ? add_spread_rows : spread_rows)(in.data(), in_step, out.data(), out_step, every, kRows, columns);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<int64_t>(i), row = at / out_step, place = at % out_step;
    const bool spread = place % every == 0 && place / every < columns;
    const float value = spread ? in[row * in_step + place / every] : -1.0f;
    ASSERT_EQ(out[i], spread && add ? value - 1 : value)
        << "every " << every << ", row " << row << ", " << place << " of " << columns
        << (add ? ", added" : "");
  }
}

TEST(SpreadRows, SetsOrAddsToEveryNthElementAndNothingElse) {
  for_each_target([] {
    for (const int64_t every : {1, 2, 3, 4})
      for (const int64_t columns : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50})
        for (const bool add : {false, true}) expect_spread(every, columns, add);
  });
}

}  // namespace
}  // namespace convscope
