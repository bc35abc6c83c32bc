// FastReference: single elements of the definition (reference.hpp) in f64, by loops over just the taps that
// lie inside the tensors, whose ranges it derives by division. What verification expects comes from here; a
// test holds it against the definition element by element. Any mix of f32 and f64 tensors: the checksums of
// block_sums.hpp have f64 operands. Legend: n c h w input, k c r s filter (c within its group), n k p q
// output.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope {

// A sum of products and the sum of the products' magnitudes, which error bounds need.
struct ReferenceSum {
  double value = 0;
  double magnitude = 0;
};

// What the epilogue makes of a sum, with this bias of its channel.
inline ReferenceSum with_epilogue(ReferenceSum sum, Epilogue epilogue, double bias) {
  if (has_bias(epilogue)) sum = {sum.value + bias, sum.magnitude + std::abs(bias)};
  if (has_relu(epilogue)) sum.value = std::max(sum.value, 0.0);
  return sum;
}

// One of the loops of a sum of products: how often, and how far each step goes in the two tensors.
struct ReferenceLoop {
  int64_t count, a_step, b_step;
};

// Three nested loops over a and b. The order of summation is free in f64, so the longest loop is innermost.
template <typename A, typename B>
ReferenceSum sum_of_products(const A* a, const B* b, std::array<ReferenceLoop, 3> loops) {
  std::sort(loops.begin(), loops.end(), [](const auto& x, const auto& y) { return x.count < y.count; });
  const ReferenceLoop outer = loops[0], middle = loops[1], inner = loops[2];
  double value = 0, magnitude = 0;
  for (int64_t i = 0; i < outer.count; ++i)
    for (int64_t j = 0; j < middle.count; ++j) {
      const A* a_run = a + i * outer.a_step + j * middle.a_step;
      const B* b_run = b + i * outer.b_step + j * middle.b_step;
#pragma omp simd reduction(+ : value, magnitude)
      for (int64_t l = 0; l < inner.count; ++l) {
        const double product = static_cast<double>(a_run[l * inner.a_step]) * b_run[l * inner.b_step];
        value += product;
        magnitude += std::abs(product);
      }
    }
  return {value, magnitude};
}

// The steps i in [first, last) for which start + i * step lies in [0, size). Empty when first >= last.
struct InsideRange {
  int64_t first, last;
  InsideRange(int64_t start, int64_t step, int64_t count, int64_t size)
      : first(start < 0 ? (-start + step - 1) / step : 0),
        last(start < size ? std::min(count, (size - 1 - start) / step + 1) : 0) {}
  int64_t count() const { return std::max<int64_t>(last - first, 0); }
};

template <typename Input, typename Filter, typename Output>
class FastReference {
 public:
  FastReference(const ConvProblem& problem, const Input* input, const Filter* filter, const Output* output)
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
    const Extent2 stride = problem_.stride, pad = problem_.pad, dilation = problem_.dilation;
    const int64_t first_c = k / problem_.out_channels_per_group() * f_.size[1];
    // The window starts at (h, w); its taps r and s inside the input form a box.
    const int64_t h = p * stride.h - pad.h, w = q * stride.w - pad.w;
    const InsideRange r(h, dilation.h, f_.size[2], x_.size[2]), s(w, dilation.w, f_.size[3], x_.size[3]);
    if (r.count() * s.count() == 0) return {};
    return sum_of_products(input_ + x_.offset(n, first_c, h + r.first * dilation.h, w + s.first * dilation.w),
                           filter_ + f_.offset(k, 0, r.first, s.first),
                           {{{f_.size[1], x_.stride[1], f_.stride[1]},
                             {r.count(), dilation.h * x_.stride[2], f_.stride[2]},
                             {s.count(), dilation.w * x_.stride[3], f_.stride[3]}}});
  }

  ReferenceSum backward_data(const std::array<int64_t, 4>& index) const {
    const auto [n, channel, h, w] = index;
    const int64_t group = channel / f_.size[1], c = channel % f_.size[1];
    const int64_t per_group = problem_.out_channels_per_group(), first_k = group * per_group;
    ReferenceSum sum;
    for (int64_t r = 0; r < f_.size[2]; ++r) {
      const int64_t strided_p = h + problem_.pad.h - r * problem_.dilation.h;
      const int64_t p = strided_p / problem_.stride.h;
      if (strided_p < 0 || strided_p % problem_.stride.h != 0 || p >= y_.size[2]) continue;
      for (int64_t s = 0; s < f_.size[3]; ++s) {
        const int64_t strided_q = w + problem_.pad.w - s * problem_.dilation.w;
        const int64_t q = strided_q / problem_.stride.w;
        if (strided_q < 0 || strided_q % problem_.stride.w != 0 || q >= y_.size[3]) continue;
        const ReferenceSum over_k =
            sum_of_products(output_ + y_.offset(n, first_k, p, q), filter_ + f_.offset(first_k, c, r, s),
                            {{{1, 0, 0}, {1, 0, 0}, {per_group, y_.stride[1], f_.stride[0]}}});
        sum.value += over_k.value;
        sum.magnitude += over_k.magnitude;
      }
    }
    return sum;
  }

  ReferenceSum backward_filter(const std::array<int64_t, 4>& index) const {
    const auto [k, c, r, s] = index;
    const Extent2 stride = problem_.stride, pad = problem_.pad, dilation = problem_.dilation;
    const int64_t channel = k / problem_.out_channels_per_group() * f_.size[1] + c;
    // The outputs p and q whose tap (r, s) lies inside the input form a box, which starts at (h, w).
    const int64_t h = r * dilation.h - pad.h, w = s * dilation.w - pad.w;
    const InsideRange p(h, stride.h, y_.size[2], x_.size[2]), q(w, stride.w, y_.size[3], x_.size[3]);
    if (p.count() * q.count() == 0) return {};
    return sum_of_products(input_ + x_.offset(0, channel, h + p.first * stride.h, w + q.first * stride.w),
                           output_ + y_.offset(0, k, p.first, q.first),
                           {{{problem_.batch, x_.stride[0], y_.stride[0]},
                             {p.count(), stride.h * x_.stride[2], y_.stride[2]},
                             {q.count(), stride.w * x_.stride[3], y_.stride[3]}}});
  }

  ConvProblem problem_;
  TensorShape x_, f_, y_;
  const Input* input_;
  const Filter* filter_;
  const Output* output_;
};

// Compiled once, optimised: what includes this, tests above all, is not.
extern template class FastReference<float, float, float>;
extern template class FastReference<float, float, double>;
extern template class FastReference<float, double, float>;
extern template class FastReference<double, float, float>;

// The element at a logical index of the tensor that the pass writes: (n, c, h, w) for activations, (k, c, r,
// s) for filters. From f32 tensors in the problem's layout; the pointer to the written one is ignored.
double reference_element(const ConvProblem& problem, const float* input, const float* filter,
                         const float* output, const std::array<int64_t, 4>& index);

// All elements of that tensor, by memory offset.
std::vector<double> reference_elements(const ConvProblem& problem, const float* input, const float* filter,
                                       const float* output);

}  // namespace convscope
