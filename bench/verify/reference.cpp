// Legend: n image, ic input channel, c input channel within its group, ih iw input position, oc output
// channel, oh ow output position, kh kw tap of the filter.
#include "bench/verify/reference.hpp"

#include <algorithm>
#include <cmath>

namespace convscope {

void reference(const ConvProblem& problem, const float* input, const float* filter, const float* output,
               std::span<double> values, std::span<double> magnitudes, const float* bias) {
  const TensorShape x = problem.shape(Role::input), f = problem.shape(Role::filter),
                    y = problem.shape(Role::output);
  // No structured bindings: before version 16 clang lets no lambda use them.
  const int64_t N = y.size[0], OC = y.size[1], OH = y.size[2], OW = y.size[3];
  const int64_t C = f.size[1], KH = f.size[2], KW = f.size[3], IH = x.size[2], IW = x.size[3];
  const int64_t SH = problem.stride.h, PH = problem.pad.h, DH = problem.dilation.h;
  const int64_t SW = problem.stride.w, PW = problem.pad.w, DW = problem.dilation.w;
  std::fill(values.begin(), values.end(), 0);
  std::fill(magnitudes.begin(), magnitudes.end(), 0);

  const auto add = [&](int64_t at, double a, double b) {
    values[static_cast<size_t>(at)] += a * b;
    if (!magnitudes.empty()) magnitudes[static_cast<size_t>(at)] += std::abs(a * b);
  };
  const auto add_channels = [&](int64_t oc, int64_t c) {
    const int64_t ic = oc / problem.out_channels_per_group() * C + c;
    for (int64_t n = 0; n < N; ++n)
      for (int64_t oh = 0; oh < OH; ++oh)
        for (int64_t ow = 0; ow < OW; ++ow)
          for (int64_t kh = 0; kh < KH; ++kh)
            for (int64_t kw = 0; kw < KW; ++kw) {
              const int64_t ih = oh * SH - PH + kh * DH, iw = ow * SW - PW + kw * DW;
              if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;
              const int64_t at_x = x.offset(n, ic, ih, iw), at_f = f.offset(oc, c, kh, kw),
                            at_y = y.offset(n, oc, oh, ow);
              if (problem.pass == Pass::forward) add(at_y, input[at_x], filter[at_f]);
              if (problem.pass == Pass::backward_data) add(at_x, output[at_y], filter[at_f]);
              if (problem.pass == Pass::backward_filter) add(at_f, input[at_x], output[at_y]);
            }
  };
  // Threads share the channels in which no two of them write one element.
  if (problem.pass == Pass::forward) {
#pragma omp parallel for
    for (int64_t oc = 0; oc < OC; ++oc)
      for (int64_t c = 0; c < C; ++c) add_channels(oc, c);
  } else {
#pragma omp parallel for
    for (int64_t c = 0; c < C; ++c)
      for (int64_t oc = 0; oc < OC; ++oc) add_channels(oc, c);
  }
  if (problem.epilogue == Epilogue::none) return;
  for (int64_t n = 0; n < N; ++n)
    for (int64_t oc = 0; oc < OC; ++oc)
      for (int64_t oh = 0; oh < OH; ++oh)
        for (int64_t ow = 0; ow < OW; ++ow) {
          const int64_t at = y.offset(n, oc, oh, ow);
          double& value = values[static_cast<size_t>(at)];
          if (has_bias(problem.epilogue)) add(at, bias[oc], 1);
          if (has_relu(problem.epilogue)) value = std::max(value, 0.0);
        }
}

}  // namespace convscope
