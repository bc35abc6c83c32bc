#include "bench/algorithm/epilogue.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bench/core/random.hpp"

namespace convscope {
namespace {

constexpr float kUntouched = 77;

// `count` values around zero; the same for the same stream.
std::vector<float> values(uint64_t stream, int64_t count) {
  std::vector<float> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = random_uniform(stream, i);
  return all;
}

float expected(Epilogue epilogue, float sum, float bias) {
  const float biased = has_bias(epilogue) ? sum + bias : sum;
  return has_relu(epilogue) ? std::fmax(biased, 0.0F) : biased;
}

// Widths around a vector's of every instruction set, and whole vectors with a rest.
TEST(Epilogue, OfRowsAndColumnsIsTheDefinitionAndTouchesNothingElse) {
  constexpr int64_t rows = 5, step = 80;
  for (Epilogue epilogue : kEpilogues)
    for (int64_t columns : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 67}) {
      const std::vector<float> sums = values(1, rows * step), bias = values(2, step);
      std::vector<float> by_row = sums, by_column = sums;
      finish_rows(epilogue, bias.data(), by_row.data(), step, rows, columns);
      finish_columns(epilogue, bias.data(), by_column.data(), step, rows, columns);
      for (int64_t i = 0; i < rows * step; ++i) {
        const auto at = static_cast<size_t>(i);
        const int64_t row = i / step, column = i % step;
        const bool inside = column < columns;
        EXPECT_EQ(by_row[at],
                  inside ? expected(epilogue, sums[at], bias[static_cast<size_t>(row)]) : sums[at])
            << name(epilogue) << " " << columns << " columns, element " << i;
        EXPECT_EQ(by_column[at],
                  inside ? expected(epilogue, sums[at], bias[static_cast<size_t>(column)]) : sums[at])
            << name(epilogue) << " " << columns << " columns, element " << i;
      }
    }
}

TEST(Epilogue, LeavesNaNSoThatWhatWasNeverWrittenShows) {
  const std::vector<float> bias(40, 1);
  std::vector<float> sums(40, std::numeric_limits<float>::quiet_NaN());
  finish_columns(Epilogue::bias_relu, bias.data(), sums.data(), 40, 1, 40);
  for (float value : sums) EXPECT_TRUE(std::isnan(value));
}

TEST(Epilogue, OfAWholeOutputIsTheSameInEveryLayout) {
  for (Layout layout : kLayouts)
    for (const char* shape : {"n=3 c=2 hw=6x5 k=7 rs=2x2", "n=33 c=2 hw=2x2 k=5 rs=2x2"}) {
      ConvProblem problem = parse_problem(shape);
      problem.layout = layout;
      problem.epilogue = Epilogue::bias_relu;
      const std::vector<float> sums = values(3, problem.elements(Role::output)),
                               bias = values(4, problem.out_channels);
      std::vector<float> output = sums;
      output.push_back(kUntouched);
      finish_output(problem, bias.data(), output.data(), 2);
      const TensorShape y = problem.shape(Role::output);
      for (int64_t n = 0; n < y.size[0]; ++n)
        for (int64_t k = 0; k < y.size[1]; ++k)
          for (int64_t p = 0; p < y.size[2]; ++p)
            for (int64_t q = 0; q < y.size[3]; ++q) {
              const auto at = static_cast<size_t>(y.offset(n, k, p, q));
              EXPECT_EQ(output[at], expected(problem.epilogue, sums[at], bias[static_cast<size_t>(k)]))
                  << name(layout) << " " << shape;
            }
      EXPECT_EQ(output.back(), kUntouched);
    }
}

}  // namespace
}  // namespace convscope
