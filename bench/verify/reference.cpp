#include "bench/verify/reference.hpp"

namespace convscope {
namespace {

// The logical index that is `i` steps into a group's channels.
int64_t input_channel(const ConvProblem& p, int64_t group, int64_t i) {
  return group * p.in_channels_per_group() + i;
}
int64_t output_channel(const ConvProblem& p, int64_t group, int64_t i) {
  return group * p.out_channels_per_group() + i;
}
bool inside(int64_t h, int64_t w, Extent2 extent) {
  return h >= 0 && h < extent.h && w >= 0 && w < extent.w;
}

}  // namespace

double reference_element(const ConvProblem& p, const float* input, const float* filter, const float* output,
                         const std::array<int64_t, 4>& index) {
  const TensorShape x = p.shape(Role::input), f = p.shape(Role::filter), y = p.shape(Role::output);
  const Extent2 out = p.output();
  double sum = 0;
  switch (p.pass) {
    case Pass::forward: {
      const auto [n, k, oh, ow] = index;
      const int64_t group = k / p.out_channels_per_group();
      for (int64_t c = 0; c < p.in_channels_per_group(); ++c)
        for (int64_t r = 0; r < p.filter.h; ++r)
          for (int64_t s = 0; s < p.filter.w; ++s) {
            const int64_t h = oh * p.stride.h - p.pad.h + r * p.dilation.h;
            const int64_t w = ow * p.stride.w - p.pad.w + s * p.dilation.w;
            if (inside(h, w, p.input))
              sum +=
                  double{input[x.offset(n, input_channel(p, group, c), h, w)]} * filter[f.offset(k, c, r, s)];
          }
      break;
    }
    case Pass::backward_data: {
      const auto [n, c, h, w] = index;
      const int64_t group = c / p.in_channels_per_group();
      for (int64_t k = 0; k < p.out_channels_per_group(); ++k)
        for (int64_t r = 0; r < p.filter.h; ++r)
          for (int64_t s = 0; s < p.filter.w; ++s) {
            const int64_t oh = h + p.pad.h - r * p.dilation.h;
            const int64_t ow = w + p.pad.w - s * p.dilation.w;
            if (oh % p.stride.h != 0 || ow % p.stride.w != 0) continue;
            if (!inside(oh / p.stride.h, ow / p.stride.w, out)) continue;
            const int64_t channel = output_channel(p, group, k);
            sum += double{output[y.offset(n, channel, oh / p.stride.h, ow / p.stride.w)]} *
                   filter[f.offset(channel, c % p.in_channels_per_group(), r, s)];
          }
      break;
    }
    case Pass::backward_filter: {
      const auto [k, c, r, s] = index;
      const int64_t group = k / p.out_channels_per_group();
      for (int64_t n = 0; n < p.batch; ++n)
        for (int64_t oh = 0; oh < out.h; ++oh)
          for (int64_t ow = 0; ow < out.w; ++ow) {
            const int64_t h = oh * p.stride.h - p.pad.h + r * p.dilation.h;
            const int64_t w = ow * p.stride.w - p.pad.w + s * p.dilation.w;
            if (inside(h, w, p.input))
              sum += double{input[x.offset(n, input_channel(p, group, c), h, w)]} *
                     output[y.offset(n, k, oh, ow)];
          }
      break;
    }
  }
  return sum;
}

}  // namespace convscope
