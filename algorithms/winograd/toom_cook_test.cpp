// The generated matrices are exact: every identity here is checked in rational arithmetic, without a
// tolerance.
#include "algorithms/winograd/toom_cook.hpp"

#include <gtest/gtest.h>

namespace convscope::winograd {
namespace {

// The correlation of n outputs and r taps, as coefficients: output k is the sum over t of g[t] d[k + t]. The
// three passes are this one identity: forward (outputs k), backward-data (the same with reversed taps) and
// backward-filter (taps and outputs exchanged).
template <int Alpha, int Outputs>
void expect_correlation() {
  constexpr int kTaps = Alpha - Outputs + 1;
  constexpr auto data = data_matrix<Alpha>();
  constexpr auto taps = evaluation_matrix<Alpha, kTaps>();
  constexpr auto outputs = evaluation_matrix<Alpha, Outputs>();
  for (int k = 0; k < Outputs; ++k)
    for (int t = 0; t < kTaps; ++t)
      for (int x = 0; x < Alpha; ++x) {
        Rational coefficient = 0;
        for (int p = 0; p < Alpha; ++p)
          coefficient = coefficient + outputs.at[p][k] * taps.at[p][t] * data.at[p][x];
        EXPECT_EQ(coefficient, x == k + t ? Rational(1) : Rational(0))
            << "F(" << Outputs << "," << kTaps << ") output " << k << " tap " << t << " input " << x;
      }
}

template <int Alpha, int Outputs>
void expect_correlations() {
  if constexpr (Outputs <= Alpha) {
    // Beyond kLargestAlpha points neither side has more than as many.
    if constexpr (Outputs <= kLargestAlpha && Alpha - Outputs < kLargestAlpha)
      expect_correlation<Alpha, Outputs>();
    expect_correlations<Alpha, Outputs + 1>();
  }
}
template <int Alpha>
void expect_all_correlations() {
  if constexpr (Alpha <= kLargestAlpha1d) {
    expect_correlations<Alpha, 1>();
    expect_all_correlations<Alpha + 1>();
  }
}

TEST(ToomCook, EveryAlgorithmUpToTwelvePointsIsExact) {
  expect_all_correlations<1>();
}

template <int Alpha, int Taps>
void expect_nested() {
  constexpr auto small = evaluation_matrix<Alpha, Taps>();
  constexpr auto large = evaluation_matrix<Alpha + 1, Taps>();
  for (int p = 0; p < Alpha; ++p) EXPECT_EQ(small.at[p], large.at[p]) << "point " << p;
}

TEST(ToomCook, AlgorithmsOfDifferentSizeShareTheTransformedFilterOfTheirCommonPoints) {
  expect_nested<4, 3>();
  expect_nested<6, 3>();
  expect_nested<7, 3>();
  expect_nested<7, 5>();
}

template <int Rows, int Columns>
void expect_restored(const Matrix<Rows, Columns>& matrix) {
  const auto factored = factor(matrix);
  for (int i = 0; i < Rows; ++i)
    for (int k = 0; k < Columns; ++k) {
      const int j = factored.partner[i];
      const Rational own = factored.core.at[i][k];
      const Rational restored = j < 0   ? own
                                : j > i ? own + factored.core.at[j][k]
                                        : factored.core.at[j][k] - own;
      EXPECT_EQ(restored, matrix.at[i][k]) << i << "," << k;
    }
}

TEST(ToomCook, FactorsRestoreTheirMatrix) {
  expect_restored(data_matrix<6>());
  expect_restored(data_matrix<8>());
  expect_restored(evaluation_matrix<6, 4>());
  expect_restored(evaluation_matrix<8, 6>());
  expect_restored(data_matrix<12>());
}

TEST(ToomCook, OppositePointsShareTheirWork) {
  constexpr auto matrix = data_matrix<8>();
  constexpr auto factored = factor(matrix);
  constexpr Factored<8, 8> plain{matrix, {-1, -1, -1, -1, -1, -1, -1, -1}};
  EXPECT_LT(factored.flops(false), plain.flops(false));
}

TEST(ToomCook, GrowthRisesWithThePoints) {
  EXPECT_NEAR((squared_growth<1, 1>().largest), 1.0, 1e-12);
  EXPECT_LT((squared_growth<4, 3>().largest), (squared_growth<6, 3>().largest));
  EXPECT_LT((squared_growth<6, 3>().largest), (squared_growth<8, 3>().largest));
  // What the gate allows in two dimensions holds for twelve points in one.
  const double in_two_dimensions = squared_growth<8, 3>().largest * squared_growth<8, 3>().largest;
  EXPECT_LT((squared_growth<12, 7>().largest), in_two_dimensions);
}

TEST(Rational, IsReducedWithAPositiveDenominator) {
  EXPECT_EQ(Rational(2, -4), Rational(-1, 2));
  EXPECT_EQ(Rational(1, 2) + Rational(1, 3), Rational(5, 6));
  EXPECT_EQ(Rational(1, 2) / Rational(-3, 4), Rational(-2, 3));
  EXPECT_EQ(Rational(3, 4) - Rational(3, 4), Rational(0));
}

}  // namespace
}  // namespace convscope::winograd
