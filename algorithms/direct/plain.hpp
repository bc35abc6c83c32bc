// The direct method as it is defined, for the three passes: where to start reading, and what the family's
// tests compare the schedules with. One product at a time, in double precision.
#pragma once

#include <vector>

#include "bench/core/problem.hpp"

namespace convscope::direct {

// The tensor that the pass writes, from the two others, which have the problem's layout as it has.
inline std::vector<double> plain(const ConvProblem& problem, const float* input, const float* filter,
                                 const float* output) {
  const TensorShape x = problem.shape(Role::input), f = problem.shape(Role::filter),
                    y = problem.shape(Role::output);
  std::vector<double> written(static_cast<size_t>(problem.elements(written_role(problem.pass))));
  const auto add = [&](int64_t at, double product) { written[static_cast<size_t>(at)] += product; };

  const auto [batch, out_channels, out_h, out_w] = y.size;
  const auto [_, group_channels, filter_h, filter_w] = f.size;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t k = 0; k < out_channels; ++k)
      for (int64_t p = 0; p < out_h; ++p)
        for (int64_t q = 0; q < out_w; ++q)
          for (int64_t c = 0; c < group_channels; ++c)
            for (int64_t r = 0; r < filter_h; ++r)
              for (int64_t s = 0; s < filter_w; ++s) {
                const int64_t h = p * problem.stride.h - problem.pad.h + r * problem.dilation.h;
                const int64_t w = q * problem.stride.w - problem.pad.w + s * problem.dilation.w;
                if (h < 0 || h >= problem.input.h || w < 0 || w >= problem.input.w) continue;
                const int64_t channel = k / problem.out_channels_per_group() * group_channels + c;
                const int64_t in_x = x.offset(n, channel, h, w), in_f = f.offset(k, c, r, s),
                              in_y = y.offset(n, k, p, q);
                switch (problem.pass) {
                  case Pass::forward:
                    add(in_y, double{input[in_x]} * filter[in_f]);
                    break;
                  case Pass::backward_data:
                    add(in_x, double{output[in_y]} * filter[in_f]);
                    break;
                  case Pass::backward_filter:
                    add(in_f, double{input[in_x]} * output[in_y]);
                    break;
                }
              }
  return written;
}

}  // namespace convscope::direct
