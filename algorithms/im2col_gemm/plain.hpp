// The method of this folder as it is written down, for one channel group and one NCHW image: unfold the
// input, multiply. Start reading here; the tests compare the fast plans with it. In f64, exact on small whole
// numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope::im2col_gemm {

struct PlainMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> data = std::vector<double>(static_cast<size_t>(rows * columns));
  double& at(int64_t row, int64_t column) { return data[static_cast<size_t>(row * columns + column)]; }
  double at(int64_t row, int64_t column) const { return data[static_cast<size_t>(row * columns + column)]; }
};

inline PlainMatrix transposed(const PlainMatrix& a) {
  PlainMatrix result{a.columns, a.rows};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) result.at(j, i) = a.at(i, j);
  return result;
}

inline PlainMatrix operator*(const PlainMatrix& a, const PlainMatrix& b) {
  PlainMatrix c{a.rows, b.columns};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

// Calls visit(row, pixel, channel, position) for each element of the column matrix [CRS, PQ] that is not on
// the padding: it is the input's element at that position (h * width + w) of that channel.
template <typename Visit>
void for_each_column_element(const ConvProblem& p, const Visit& visit) {
  const Extent2 out = p.output();
  for (int64_t c = 0, row = 0; c < p.in_channels; ++c)
    for (int64_t r = 0; r < p.filter.h; ++r)
      for (int64_t s = 0; s < p.filter.w; ++s, ++row)
        for (int64_t pixel = 0; pixel < out.h * out.w; ++pixel) {
          const int64_t h = pixel / out.w * p.stride.h - p.pad.h + r * p.dilation.h;
          const int64_t w = pixel % out.w * p.stride.w - p.pad.w + s * p.dilation.w;
          if (h >= 0 && h < p.input.h && w >= 0 && w < p.input.w) visit(row, pixel, c, h * p.input.w + w);
        }
}

// im2col: [C, HW] to [CRS, PQ].
inline PlainMatrix unfolded(const ConvProblem& p, const PlainMatrix& input) {
  PlainMatrix columns{p.in_channels * p.filter.h * p.filter.w, p.output().h * p.output().w};
  for_each_column_element(p, [&](int64_t row, int64_t pixel, int64_t channel, int64_t position) {
    columns.at(row, pixel) = input.at(channel, position);
  });
  return columns;
}

// col2im, the transpose of im2col: an input's element is the sum over the columns that it went to.
inline PlainMatrix folded(const ConvProblem& p, const PlainMatrix& columns) {
  PlainMatrix input{p.in_channels, p.input.h * p.input.w};
  for_each_column_element(p, [&](int64_t row, int64_t pixel, int64_t channel, int64_t position) {
    input.at(channel, position) += columns.at(row, pixel);
  });
  return input;
}

// The three passes, with the filter as [K, CRS] and the output as [K, PQ].
inline PlainMatrix plain_forward(const ConvProblem& p, const PlainMatrix& input, const PlainMatrix& filter) {
  return filter * unfolded(p, input);
}
inline PlainMatrix plain_backward_data(const ConvProblem& p, const PlainMatrix& output,
                                       const PlainMatrix& filter) {
  return folded(p, transposed(filter) * output);
}
inline PlainMatrix plain_backward_filter(const ConvProblem& p, const PlainMatrix& input,
                                         const PlainMatrix& output) {
  return output * transposed(unfolded(p, input));
}

}  // namespace convscope::im2col_gemm
