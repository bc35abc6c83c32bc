// The Winograd (Toom-Cook) transform matrices, generated in exact rational arithmetic at compile time from
// one sequence of interpolation points; no matrix is typed in. Start at data_matrix() and
// evaluation_matrix().
//
// F(m, r) gives m outputs of an r-tap correlation from alpha = m + r - 1 inputs d with alpha products:
//   y = E_m^T [ (E_r g) . (B d) ],   B = data_matrix<alpha>(), E_n = evaluation_matrix<alpha, n>().
// All divisors are in B, so E depends on the point alone: algorithms of different alpha share the transformed
// filter of every point that they have in common, and their products may be added before the inverse.
// Source: Winograd, "Arithmetic Complexity of Computations", 1980; Lavin & Gray, arXiv 1509.09308.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace convscope::winograd {

struct Rational {
  int64_t numerator = 0;
  int64_t denominator = 1;  // positive, no common factor

  constexpr Rational() = default;
  constexpr Rational(int64_t n, int64_t d = 1) : numerator(n), denominator(d) {  // implicit: 1 is a Rational
    const int64_t divisor = std::gcd(n, d) * (d < 0 ? -1 : 1);
    numerator /= divisor;
    denominator /= divisor;
  }
  friend constexpr Rational operator+(Rational a, Rational b) {
    return {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator};
  }
  friend constexpr Rational operator-(Rational a) { return {-a.numerator, a.denominator}; }
  friend constexpr Rational operator-(Rational a, Rational b) { return a + -b; }
  friend constexpr Rational operator*(Rational a, Rational b) {
    return {a.numerator * b.numerator, a.denominator * b.denominator};
  }
  friend constexpr Rational operator/(Rational a, Rational b) {
    return {a.numerator * b.denominator, a.denominator * b.numerator};
  }
  friend constexpr bool operator==(Rational, Rational) = default;
  constexpr double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

template <int Rows, int Columns>
struct Matrix {
  std::array<std::array<Rational, Columns>, Rows> at{};
};

// The point at infinity comes first in every algorithm, then the first alpha - 1 of these. Chosen for low
// error: 0, 1, -1, -2, 1/2 for alpha 6, 0, +-1, +-2, +-1/2 for alpha 8; then the pairs, of
// those tried, with the smallest growth of the terms of alpha 12.
inline constexpr std::array<Rational, 11> kPoints{
    {0, 1, -1, -2, {1, 2}, 2, {-1, 2}, {3, 4}, {-4, 3}, {4, 3}, {-3, 4}}};
// In two dimensions, whose growth multiplies, a ninth point breaks the accuracy gate. In one, twelve let the
// terms of 7 taps grow 45-fold, eight in two dimensions those of 3x3 taps 46-fold.
inline constexpr int kLargestAlpha = 8;
inline constexpr int kLargestAlpha1d = 12;

// Calls f.operator()<alpha, n>() for all numbers of points and those of taps or outputs: more than
// kLargestAlpha points have at most kLargestAlpha of these.
template <int Alpha = 1, int N = 1, typename F>
constexpr void for_each_size(const F& f) {
  f.template operator()<Alpha, N>();
  if constexpr (N < std::min(Alpha, kLargestAlpha))
    for_each_size<Alpha, N + 1>(f);
  else if constexpr (Alpha < kLargestAlpha1d)
    for_each_size<Alpha + 1>(f);
}

// The coefficients, lowest first, of the product of (x - p) over the first `points` points, one left out.
template <int Length>
constexpr std::array<Rational, Length> root_polynomial(int points, int left_out) {
  std::array<Rational, Length> result{};
  result[0] = 1;
  for (int j = 0; j < points; ++j) {
    if (j == left_out) continue;
    for (int k = Length - 1; k >= 0; --k) result[k] = (k > 0 ? result[k - 1] : 0) - kPoints[j] * result[k];
  }
  return result;
}

// B: from alpha inputs to the values at the alpha points. Row 0 belongs to infinity, row i to kPoints[i - 1].
template <int Alpha>
constexpr Matrix<Alpha, Alpha> data_matrix() {
  Matrix<Alpha, Alpha> result;
  result.at[0] = root_polynomial<Alpha>(Alpha - 1, -1);
  for (int i = 1; i < Alpha; ++i) {
    Rational divisor = 1;
    for (int j = 0; j < Alpha - 1; ++j)
      if (j != i - 1) divisor = divisor * (kPoints[i - 1] - kPoints[j]);
    result.at[i] = root_polynomial<Alpha>(Alpha - 1, i - 1);
    for (Rational& entry : result.at[i]) entry = entry / divisor;
  }
  return result;
}

// E: the polynomial with Taps coefficients evaluated at the alpha points; at infinity, its last coefficient.
template <int Alpha, int Taps>
constexpr Matrix<Alpha, Taps> evaluation_matrix() {
  Matrix<Alpha, Taps> result;
  result.at[0][Taps - 1] = 1;
  for (int i = 1; i < Alpha; ++i) {
    Rational power = 1;
    for (int k = 0; k < Taps; ++k) {
      result.at[i][k] = power;
      power = power * kPoints[i - 1];
    }
  }
  return result;
}

// A matrix as it is computed. Rows i and partner[i] of opposite points p and -p share their even and odd
// parts: core holds half their sum and half their difference, and a butterfly restores them.
template <int Rows, int Columns>
struct Factored {
  Matrix<Rows, Columns> core;
  std::array<int, Rows> partner{};  // the row of -p on the row of p; -1 where the rows stand alone

  // Multiplications by other than +-1 and additions, for one vector; the transposed product costs as many
  // multiplications.
  constexpr int flops(bool transposed) const {
    int multiplies = 0, terms = 0, pairs = 0;
    for (int i = 0; i < Rows; ++i) {
      pairs += partner[i] > i ? 1 : 0;
      for (const Rational& entry : core.at[i]) {
        if (entry == 0) continue;
        ++terms;
        multiplies += entry == 1 || entry == -1 ? 0 : 1;
      }
    }
    return multiplies + terms - (transposed ? Columns : Rows) + 2 * pairs;
  }
};

template <int Columns>
constexpr int nonzeros(const std::array<Rational, Columns>& row) {
  int count = 0;
  for (const Rational& entry : row) count += entry == 0 ? 0 : 1;
  return count;
}

template <int Rows, int Columns>
constexpr Factored<Rows, Columns> factor(const Matrix<Rows, Columns>& matrix) {
  Factored<Rows, Columns> result{matrix, {}};
  result.partner.fill(-1);
  for (int i = 1; i < Rows; ++i)
    for (int j = i + 1; j < Rows; ++j) {
      if (!(kPoints[i - 1] == -kPoints[j - 1])) continue;
      std::array<Rational, Columns> even{}, odd{};
      for (int k = 0; k < Columns; ++k) {
        even[k] = (matrix.at[i][k] + matrix.at[j][k]) / 2;
        odd[k] = (matrix.at[i][k] - matrix.at[j][k]) / 2;
      }
      const int before = nonzeros<Columns>(matrix.at[i]) + nonzeros<Columns>(matrix.at[j]);
      if (nonzeros<Columns>(even) == 0 || nonzeros<Columns>(odd) == 0) continue;
      if (nonzeros<Columns>(even) + nonzeros<Columns>(odd) + 2 >= before) continue;
      result.core.at[i] = even;
      result.core.at[j] = odd;
      result.partner[i] = j;
      result.partner[j] = i;
    }
  return result;
}

// How much larger the terms of F(Alpha - Taps + 1, Taps) in one dimension are than those of the direct sum,
// in root mean square and squared, for independent inputs of equal variance: of an output sum over points of
// E[p][output]^2 |E_Taps[p]|^2 |B[p]|^2 / Taps.
struct SquaredGrowth {
  double largest = 0, mean = 0;  // over the outputs
};
template <int Alpha, int Taps>
constexpr SquaredGrowth squared_growth() {
  constexpr int kOutputs = Alpha - Taps + 1;
  const auto data = data_matrix<Alpha>();
  const auto taps = evaluation_matrix<Alpha, Taps>();
  const auto outputs = evaluation_matrix<Alpha, kOutputs>();
  SquaredGrowth growth;
  for (int k = 0; k < kOutputs; ++k) {
    double sum = 0;
    for (int i = 0; i < Alpha; ++i) {
      double of_data = 0, of_taps = 0;
      for (const Rational& entry : data.at[i]) of_data += entry.value() * entry.value();
      for (const Rational& entry : taps.at[i]) of_taps += entry.value() * entry.value();
      sum += outputs.at[i][k].value() * outputs.at[i][k].value() * of_taps * of_data / Taps;
    }
    growth.largest = sum > growth.largest ? sum : growth.largest;
    growth.mean += sum / kOutputs;
  }
  return growth;
}

}  // namespace convscope::winograd
