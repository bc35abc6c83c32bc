// The seven loops themselves, for any mix of f32 and f64 tensors (the checksums of block_sums.hpp need f64
// operands). Users call reference.hpp. Legend: n c h w input, k c r s filter (c within its group), n k p q
// output.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "bench/core/problem.hpp"

namespace convscope {

// A sum of products and the sum of the products' magnitudes, which error bounds need.
struct ReferenceSum {
  double value = 0;
  double magnitude = 0;
  void add(double a, double b) {
    value += a * b;
    magnitude += std::abs(a * b);
  }
};

template <typename Input, typename Filter, typename Output>
class ReferenceLoops {
 public:
  ReferenceLoops(const ConvProblem& problem, const Input* input, const Filter* filter, const Output* output)
      : problem_(problem),
        x_(problem.shape(Role::input)),
        f_(problem.shape(Role::filter)),
        y_(problem.shape(Role::output)),
        input_(input),
        filter_(filter),
        output_(output) {}

  // One element of the tensor that the pass writes, at its logical index.
  ReferenceSum at(const std::array<int64_t, 4>& index) const {
    switch (problem_.pass) {
      case Pass::forward:
        return forward(index);
      case Pass::backward_data:
        return backward_data(index);
      case Pass::backward_filter:
        return backward_filter(index);
    }
    return {};
  }

 private:
  ReferenceSum forward(const std::array<int64_t, 4>& index) const {
    const auto [n, k, p, q] = index;
    const int64_t first_channel = k / problem_.out_channels_per_group() * f_.size[1];
    ReferenceSum sum;
    for (int64_t c = 0; c < f_.size[1]; ++c)
      for (int64_t r = 0; r < f_.size[2]; ++r) {
        const int64_t h = p * problem_.stride.h - problem_.pad.h + r * problem_.dilation.h;
        if (h < 0 || h >= x_.size[2]) continue;
        for (int64_t s = 0; s < f_.size[3]; ++s) {
          const int64_t w = q * problem_.stride.w - problem_.pad.w + s * problem_.dilation.w;
          if (w < 0 || w >= x_.size[3]) continue;
          sum.add(input_[x_.offset(n, first_channel + c, h, w)], filter_[f_.offset(k, c, r, s)]);
        }
      }
    return sum;
  }

  ReferenceSum backward_data(const std::array<int64_t, 4>& index) const {
    const auto [n, channel, h, w] = index;
    const int64_t group = channel / f_.size[1], c = channel % f_.size[1];
    const int64_t first_k = group * problem_.out_channels_per_group();
    ReferenceSum sum;
    for (int64_t r = 0; r < f_.size[2]; ++r) {
      const int64_t strided_p = h + problem_.pad.h - r * problem_.dilation.h;
      const int64_t p = strided_p / problem_.stride.h;
      if (strided_p < 0 || strided_p % problem_.stride.h != 0 || p >= y_.size[2]) continue;
      for (int64_t s = 0; s < f_.size[3]; ++s) {
        const int64_t strided_q = w + problem_.pad.w - s * problem_.dilation.w;
        const int64_t q = strided_q / problem_.stride.w;
        if (strided_q < 0 || strided_q % problem_.stride.w != 0 || q >= y_.size[3]) continue;
        for (int64_t k = first_k; k < first_k + problem_.out_channels_per_group(); ++k)
          sum.add(output_[y_.offset(n, k, p, q)], filter_[f_.offset(k, c, r, s)]);
      }
    }
    return sum;
  }

  ReferenceSum backward_filter(const std::array<int64_t, 4>& index) const {
    const auto [k, c, r, s] = index;
    const int64_t channel = k / problem_.out_channels_per_group() * f_.size[1] + c;
    ReferenceSum sum;
    for (int64_t n = 0; n < problem_.batch; ++n)
      for (int64_t p = 0; p < y_.size[2]; ++p) {
        const int64_t h = p * problem_.stride.h - problem_.pad.h + r * problem_.dilation.h;
        if (h < 0 || h >= x_.size[2]) continue;
        for (int64_t q = 0; q < y_.size[3]; ++q) {
          const int64_t w = q * problem_.stride.w - problem_.pad.w + s * problem_.dilation.w;
          if (w < 0 || w >= x_.size[3]) continue;
          sum.add(input_[x_.offset(n, channel, h, w)], output_[y_.offset(n, k, p, q)]);
        }
      }
    return sum;
  }

  ConvProblem problem_;
  TensorShape x_, f_, y_;
  const Input* input_;
  const Filter* filter_;
  const Output* output_;
};

}  // namespace convscope
