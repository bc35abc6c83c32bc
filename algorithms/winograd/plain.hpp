// Winograd as it is written down, and nothing else: F(m x m, r x r), forward, stride 1, any layout. The place
// to start reading; the tests of the fast variants compare with it.
//   Y = E_m^T [ sum over channels of (E_r g E_r^T) . (B d B^T) ] E_m
// with d the alpha x alpha inputs of a tile, alpha = m + r - 1, g the taps of a filter and . the product of
// elements. In f64, so that it shows the error of the fast variants and not its own.
#pragma once

#include <cstdint>

#include "algorithms/winograd/toom_cook.hpp"
#include "bench/core/problem.hpp"

namespace convscope::winograd::plain {

template <int Rows, int Columns>
struct Values {
  double at[Rows][Columns] = {};
};
template <int N>
using Square = Values<N, N>;

template <int Rows, int Columns>
constexpr Matrix<Columns, Rows> transposed(const Matrix<Rows, Columns>& m) {
  Matrix<Columns, Rows> result;
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) result.at[j][i] = m.at[i][j];
  return result;
}

// (M X)^T
template <int Out, int In, int Columns>
Values<Columns, Out> product_transposed(const Matrix<Out, In>& m, const Values<In, Columns>& x) {
  Values<Columns, Out> y;
  for (int i = 0; i < Out; ++i)
    for (int a = 0; a < In; ++a)
      for (int j = 0; j < Columns; ++j) y.at[j][i] += m.at[i][a].value() * x.at[a][j];
  return y;
}

// M X M^T
template <int Out, int In>
Square<Out> on_both_sides(const Matrix<Out, In>& m, const Square<In>& x) {
  return product_transposed(m, product_transposed(m, x));
}

// The tile of outputs that begins at (h, w), of image n and output channel k.
template <int Size, int Taps>
Square<Size> tile(const ConvProblem& p, const float* x, const float* filter, int64_t n, int64_t k, int64_t h,
                  int64_t w) {
  constexpr int kAlpha = Size + Taps - 1;
  constexpr auto kData = data_matrix<kAlpha>();                             // B
  constexpr auto kTaps = evaluation_matrix<kAlpha, Taps>();                 // E_r
  constexpr auto kOutputs = transposed(evaluation_matrix<kAlpha, Size>());  // E_m^T
  const TensorShape in = p.shape(Role::input), taps = p.shape(Role::filter);
  const int64_t channels = p.in_channels_per_group(), first = k / p.out_channels_per_group() * channels;

  Square<kAlpha> products;
  for (int64_t c = 0; c < channels; ++c) {
    Square<kAlpha> d;
    for (int i = 0; i < kAlpha; ++i)
      for (int j = 0; j < kAlpha; ++j) {
        const int64_t ih = h - p.pad.h + i, iw = w - p.pad.w + j;
        if (ih >= 0 && ih < p.input.h && iw >= 0 && iw < p.input.w)
          d.at[i][j] = x[in.offset(n, first + c, ih, iw)];
      }
    Square<Taps> g;
    for (int r = 0; r < Taps; ++r)
      for (int s = 0; s < Taps; ++s) g.at[r][s] = filter[taps.offset(k, c, r, s)];

    const Square<kAlpha> data = on_both_sides(kData, d), points = on_both_sides(kTaps, g);
    for (int i = 0; i < kAlpha; ++i)
      for (int j = 0; j < kAlpha; ++j) products.at[i][j] += points.at[i][j] * data.at[i][j];
  }
  return on_both_sides(kOutputs, products);
}

// Calls store(offset in y, value) for every output.
template <int Size, int Taps, typename Store>
void forward(const ConvProblem& p, const float* x, const float* filter, const Store& store) {
  const TensorShape out = p.shape(Role::output);
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t k = 0; k < p.out_channels; ++k)
      for (int64_t h = 0; h < p.output().h; h += Size)
        for (int64_t w = 0; w < p.output().w; w += Size) {
          const Square<Size> y = tile<Size, Taps>(p, x, filter, n, k, h, w);
          for (int i = 0; i < Size && h + i < p.output().h; ++i)
            for (int j = 0; j < Size && w + j < p.output().w; ++j)
              store(out.offset(n, k, h + i, w + j), y.at[i][j]);
        }
}

}  // namespace convscope::winograd::plain
