// Batch normalisation of operations.hpp, on Highway: a thread takes a channel after another, so that what the
// pass for its sums has read is in a cache for the pass that writes.
#include <algorithm>
#include <cmath>

#include "bench/operation/operations.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/operation/batch_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/operation/values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Values that are summed in f32, before their sum goes into one in f64: 16 KiB, which L1 holds for the second
// look at them.
constexpr int64_t kBlock = 4096;

struct TwoSums {
  double first = 0, second = 0;
};

// The sums of what step(tag, i, a, b) adds to a and to b, for all i below count. Four chains of additions,
// as one waits for its last one; their order depends on the instruction set and on nothing else.
template <typename Step>
TwoSums Sums(int64_t count, Step step) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    step(d, i, a0, b0);
    step(d, i + lanes, a1, b1);
    step(d, i + 2 * lanes, a2, b2);
    step(d, i + 3 * lanes, a3, b3);
  }
  for (; i + lanes <= count; i += lanes) step(d, i, a0, b0);
  const hn::CappedTag<float, 1> single;
  auto a = hn::Zero(single), b = a;
  for (; i < count; ++i) step(single, i, a, b);
  const auto sum = [&](auto v0, auto v1, auto v2, auto v3, auto rest) {
    const auto whole = hn::SumOfLanes(d, hn::Add(hn::Add(v0, v1), hn::Add(v2, v3)));
    return double{hn::GetLane(whole)} + hn::GetLane(rest);
  };
  return {sum(a0, a1, a2, a3, a), sum(b0, b1, b2, b3, b)};
}

// Calls at(first value, values) for the blocks of a channel, image after image.
template <typename At>
void ForBlocks(const Activations& shape, int64_t channel, At at) {
  for (int64_t n = 0; n < shape.n; ++n)
    for (int64_t i = 0; i < shape.pixels(); i += kBlock)
      at((n * shape.c + channel) * shape.pixels() + i, std::min(kBlock, shape.pixels() - i));
}

// Mean and sum of squared distances from it of values taken in block by block: of each block about its own
// mean, then both means by Chan, Golub and LeVeque 1979, so that nothing large is subtracted.
class Moments {
 public:
  void Add(const float* x, int64_t count) {
    const double values = static_cast<double>(count);
    const TwoSums sum =
        Sums(count, [&](auto d, int64_t i, auto& a, auto&) { a = hn::Add(a, hn::LoadU(d, x + i)); });
    const auto about = static_cast<float>(sum.first / values);
    const TwoSums distances = Sums(count, [&](auto d, int64_t i, auto& a, auto& b) {
      const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, about));
      a = hn::Add(a, distance);
      b = hn::MulAdd(distance, distance, b);
    });
    const double mean = about + distances.first / values;
    const double squares = std::max(0.0, distances.second - distances.first * distances.first / values);
    const double apart = mean - mean_, all = count_ + values;
    mean_ += apart * values / all;
    squares_ += squares + apart * apart * count_ * values / all;
    count_ = all;
  }
  double Mean() const { return mean_; }
  double Variance() const { return squares_ / count_; }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

void ForwardOfChannel(const Activations& shape, int64_t channel, const float* x, const float* parameters,
                      bool relu, float* y, float* statistics) {
  Moments moments;
  ForBlocks(shape, channel, [&](int64_t first, int64_t count) { moments.Add(x + first, count); });
  const auto mean = static_cast<float>(moments.Mean());
  const auto reciprocal = static_cast<float>(1 / std::sqrt(moments.Variance() + kBatchNormEpsilon));
  statistics[channel] = mean;
  statistics[shape.c + channel] = reciprocal;
  const float factor = parameters[channel] * reciprocal, shift = parameters[shape.c + channel];
  const float lowest = relu ? 0 : -HUGE_VALF;
  ForBlocks(shape, channel, [&](int64_t first, int64_t count) {
    ForValues(count, [&](auto d, int64_t i) {
      const auto distance = hn::Sub(hn::LoadU(d, x + first + i), hn::Set(d, mean));
      const auto value = hn::MulAdd(distance, hn::Set(d, factor), hn::Set(d, shift));
      hn::StoreU(hn::Max(value, hn::Set(d, lowest)), d, y + first + i);
    });
  });
}

// With g = dy where ReLU let y pass, M values and x' = (x - mean) / deviation: the shift's gradient is sum g,
// the scale's sum g x', and dx = scale / deviation (g - sum g / M - x' sum g x' / M).
template <bool relu>
void BackwardOfChannel(const Activations& shape, int64_t channel, const float* x, const float* parameters,
                       const float* statistics, const float* dy, float* dx, float* dparameters) {
  const float mean = statistics[channel], reciprocal = statistics[shape.c + channel];
  const float factor = parameters[channel] * reciprocal, shift = parameters[shape.c + channel];
  const auto distance = [&](auto d, int64_t at) { return hn::Sub(hn::LoadU(d, x + at), hn::Set(d, mean)); };
  // As forward computed it, to the bit.
  const auto passed = [&](auto d, int64_t at, auto from_mean) {
    const auto gradient = hn::LoadU(d, dy + at);
    if constexpr (!relu) return gradient;
    const auto y = hn::MulAdd(from_mean, hn::Set(d, factor), hn::Set(d, shift));
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), gradient);
  };
  TwoSums all;
  ForBlocks(shape, channel, [&](int64_t first, int64_t count) {
    const TwoSums sums = Sums(count, [&](auto d, int64_t i, auto& a, auto& b) {
      const auto from_mean = distance(d, first + i);
      const auto gradient = passed(d, first + i, from_mean);
      a = hn::Add(a, gradient);
      b = hn::MulAdd(gradient, from_mean, b);
    });
    all.first += sums.first;
    all.second += sums.second;
  });
  dparameters[channel] = static_cast<float>(all.second * reciprocal);
  dparameters[shape.c + channel] = static_cast<float>(all.first);
  const auto values = static_cast<double>(shape.n * shape.pixels());
  const auto mean_gradient = static_cast<float>(all.first / values);
  const auto slope = static_cast<float>(all.second * reciprocal * reciprocal / values);
  ForBlocks(shape, channel, [&](int64_t first, int64_t count) {
    ForValues(count, [&](auto d, int64_t i) {
      const auto from_mean = distance(d, first + i);
      const auto centred = hn::Sub(passed(d, first + i, from_mean), hn::Set(d, mean_gradient));
      const auto straight = hn::NegMulAdd(from_mean, hn::Set(d, slope), centred);
      hn::StoreU(hn::Mul(straight, hn::Set(d, factor)), d, dx + first + i);
    });
  });
}

void BackwardLinear(const Activations& shape, int64_t channel, const float* x, const float* parameters,
                    const float* statistics, const float* dy, float* dx, float* dparameters) {
  BackwardOfChannel<false>(shape, channel, x, parameters, statistics, dy, dx, dparameters);
}
void BackwardOfRelu(const Activations& shape, int64_t channel, const float* x, const float* parameters,
                    const float* statistics, const float* dy, float* dx, float* dparameters) {
  BackwardOfChannel<true>(shape, channel, x, parameters, statistics, dy, dx, dparameters);
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {

HWY_EXPORT(ForwardOfChannel);
HWY_EXPORT(BackwardLinear);
HWY_EXPORT(BackwardOfRelu);

}  // namespace

void batch_norm_forward(const Activations& shape, const float* x, const float* parameters, bool relu,
                        float* y, float* statistics) {
  const auto of_channel = HWY_DYNAMIC_DISPATCH(ForwardOfChannel);
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < shape.c; ++channel)
    of_channel(shape, channel, x, parameters, relu, y, statistics);
}

void batch_norm_backward(const Activations& shape, const float* x, const float* parameters,
                         const float* statistics, bool relu, const float* dy, float* dx, float* dparameters) {
  const auto of_channel = relu ? HWY_DYNAMIC_DISPATCH(BackwardOfRelu) : HWY_DYNAMIC_DISPATCH(BackwardLinear);
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < shape.c; ++channel)
    of_channel(shape, channel, x, parameters, statistics, dy, dx, dparameters);
}

}  // namespace convscope
#endif
