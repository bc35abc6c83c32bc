// The 1-D transforms as straight-line device code made from the matrices of toom_cook.hpp: terms of zero are
// left out, factors of one are no multiplication, opposite points share their even and odd parts. For .cu
// files.
//
// A transform is a type with kIn, kOut and apply(in, out); with_line<Family>(alpha, n, f) calls f with the
// one for sizes known at run time.
#pragma once

#include "algorithms/common/tally.hpp"
#include "algorithms/winograd/toom_cook.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

using winograd::Factored;
using winograd::kLargestAlpha;
using winograd::Rational;

constexpr bool is_zero(Rational r) {
  return r.numerator == 0;
}

// Adds coefficient * x to the sum, which is empty before the first term.
template <int64_t Numerator, int64_t Denominator, bool First>
__device__ __forceinline__ float add_term(float sum, float x) {
  constexpr float coefficient = static_cast<float>(static_cast<double>(Numerator) / Denominator);
  if constexpr (Numerator == 0) return sum;
  if constexpr (First) return coefficient == 1.0f ? x : coefficient == -1.0f ? -x : coefficient * x;
  if constexpr (coefficient == 1.0f) return sum + x;
  if constexpr (coefficient == -1.0f) return sum - x;
  return fmaf(coefficient, x, sum);
}

// Row `Row` of the matrix times in; with Transposed, column `Row` of it.
template <typename Matrix, bool Transposed, int Row, int Column = 0, bool First = true>
__device__ __forceinline__ float dot(const float* in, float sum = 0.0f) {
  constexpr int terms = Transposed ? Matrix::kRows : Matrix::kColumns;
  if constexpr (Column == terms) {
    return sum;
  } else {
    constexpr Rational entry =
        Transposed ? Matrix::kMatrix.core.at[Column][Row] : Matrix::kMatrix.core.at[Row][Column];
    sum = add_term<entry.numerator, entry.denominator, First>(sum, in[Column]);
    return dot < Matrix, Transposed, Row, Column + 1, First && is_zero(entry) > (in, sum);
  }
}

template <typename Matrix, int Row = 0>
__device__ __forceinline__ void multiply(const float* in, float* out) {
  if constexpr (Row < Matrix::kRows) {
    out[Row] = dot<Matrix, false, Row>(in);
    multiply<Matrix, Row + 1>(in, out);
  }
}
template <typename Matrix, int Column = 0>
__device__ __forceinline__ void multiply_transposed(const float* in, float* out) {
  if constexpr (Column < Matrix::kColumns) {
    out[Column] = dot<Matrix, true, Column>(in);
    multiply_transposed<Matrix, Column + 1>(in, out);
  }
}

// Rows i and partner[i] hold an even and an odd part: x, y become x + y, x - y.
template <typename Matrix, int Row = 0>
__device__ __forceinline__ void butterflies(float* x) {
  if constexpr (Row < Matrix::kRows) {
    constexpr int partner = Matrix::kMatrix.partner[Row];
    if constexpr (partner > Row) {
      const float even = x[Row], odd = x[partner];
      x[Row] = even + odd;
      x[partner] = even - odd;
    }
    butterflies<Matrix, Row + 1>(x);
  }
}

// alpha inputs to the values at the alpha points; N is alpha.
template <int Alpha, int N>
struct DataLine {
  static constexpr int kRows = Alpha, kColumns = Alpha, kIn = Alpha, kOut = Alpha;
  static constexpr Factored<Alpha, Alpha> kMatrix = winograd::factor(winograd::data_matrix<Alpha>());
  __device__ __forceinline__ static void apply(const float* in, float* out) {
    tally_transform(kMatrix.flops(false));
    multiply<DataLine>(in, out);
    butterflies<DataLine>(out);
  }
};
// N taps to their values at the alpha points.
template <int Alpha, int N>
struct EvaluateLine {
  static constexpr int kRows = Alpha, kColumns = N, kIn = N, kOut = Alpha;
  static constexpr Factored<Alpha, N> kMatrix = winograd::factor(winograd::evaluation_matrix<Alpha, N>());
  __device__ __forceinline__ static void apply(const float* in, float* out) {
    tally_transform(kMatrix.flops(false));
    multiply<EvaluateLine>(in, out);
    butterflies<EvaluateLine>(out);
  }
};
// The values at the alpha points to N outputs.
template <int Alpha, int N>
struct InterpolateLine {
  static constexpr int kRows = Alpha, kColumns = N, kIn = Alpha, kOut = N;
  static constexpr Factored<Alpha, N> kMatrix = winograd::factor(winograd::evaluation_matrix<Alpha, N>());
  __device__ __forceinline__ static void apply(float* in, float* out) {
    tally_transform(kMatrix.flops(true));
    butterflies<InterpolateLine>(in);
    multiply_transposed<InterpolateLine>(in, out);
  }
};

// Calls f.operator()<Line<alpha, n>>().
template <template <int, int> class Line, int Alpha, int N, typename F>
__device__ __forceinline__ void with_columns(int n, const F& f) {
  if (n == N)
    f.template operator()<Line<Alpha, N>>();
  else if constexpr (N > 1)
    with_columns<Line, Alpha, N - 1>(n, f);
}
template <template <int, int> class Line, int Alpha = kLargestAlpha, typename F>
__device__ __forceinline__ void with_line(int alpha, int n, const F& f) {
  if (alpha == Alpha) {
    if constexpr (std::is_same_v<Line<Alpha, 1>, DataLine<Alpha, 1>>)
      f.template operator()<Line<Alpha, Alpha>>();
    else
      with_columns<Line, Alpha, Alpha>(n, f);
  } else if constexpr (Alpha > 1) {
    with_line<Line, Alpha - 1>(alpha, n, f);
  }
}

}  // namespace convscope::CONVSCOPE_KERNELS
