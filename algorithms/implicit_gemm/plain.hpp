// Implicit GEMM in plain loops: the model that the index maps and the kernels are tested with, and the place
// to start reading. In every pass two operands are multiplied along the rows n p q, the columns k and the
// depth c r s of the forward product, and the third tensor is the sum:
//
//   output[n p q][k] = sum over c r s of input[n p q][c r s] filter[c r s][k]
//
// where input[n p q][c r s] is a pixel of the input, never stored as a matrix, or zero on padding.
#pragma once

#include <algorithm>
#include <array>

#include "bench/core/problem.hpp"

namespace convscope::implicit_gemm {

// The number of an element as three counters, the last one fastest, of which the last two have these sizes.
constexpr std::array<int64_t, 3> plain_counters(int64_t number, int64_t second, int64_t third) {
  return {number / (second * third), number / third % second, number % third};
}

// Writes the tensor that the pass writes. Pointers to whole tensors in the problem's layout, f32.
inline void plain_product(const ConvProblem& problem, float* input, float* filter, float* output) {
  const TensorShape x = problem.shape(Role::input), w = problem.shape(Role::filter),
                    y = problem.shape(Role::output);
  const Role written = written_role(problem.pass);
  float* const sums = written == Role::input ? input : written == Role::filter ? filter : output;
  std::fill_n(sums, problem.elements(written), 0.0f);
  const int64_t channels = w.size[1], taps = w.size[2] * w.size[3],
                columns = problem.out_channels_per_group();
  for (int64_t row = 0; row < y.size[0] * y.size[2] * y.size[3]; ++row)
    for (int64_t k = 0; k < problem.out_channels; ++k)
      for (int64_t depth = 0; depth < channels * taps; ++depth) {
        const auto [n, p, q] = plain_counters(row, y.size[2], y.size[3]);
        const auto [c, r, s] = plain_counters(depth, w.size[2], w.size[3]);
        const int64_t h = p * problem.stride.h - problem.pad.h + r * problem.dilation.h;
        const int64_t v = q * problem.stride.w - problem.pad.w + s * problem.dilation.w;
        if (h < 0 || h >= x.size[2] || v < 0 || v >= x.size[3]) continue;  // padding
        float& pixel = input[x.offset(n, k / columns * channels + c, h, v)];
        float& tap = filter[w.offset(k, c, r, s)];
        float& sum = output[y.offset(n, k, p, q)];
        if (problem.pass == Pass::forward) sum += pixel * tap;
        if (problem.pass == Pass::backward_data) pixel += sum * tap;
        if (problem.pass == Pass::backward_filter) tap += sum * pixel;
      }
}

}  // namespace convscope::implicit_gemm
