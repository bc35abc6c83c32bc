// Local response normalisation of operations.hpp, on Highway: a thread takes a block of pixels through all
// channels, so that the neighbours' rows are in its L1.
#include <algorithm>
#include <vector>

#include "bench/core/local_response.hpp"
#include "bench/operation/operations.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/operation/lrn.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/operation/values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPixels = 256;  // of a block
constexpr int64_t kReach = local_response::kReach, kRing = local_response::kChannels;
constexpr float kBias = local_response::kBias, kAlpha = local_response::kAlpha, kBeta = local_response::kBeta;

// s^-1/2: an approximation of 12 bits or more and a step of Newton's, for 22 or more.
template <typename D, typename V>
V ReciprocalRoot(D d, V s) {
  const V r = hn::ApproximateReciprocalSqrt(s);
  const V half = hn::Mul(hn::Mul(s, hn::Set(d, 0.5F)), r);
  return hn::Mul(r, hn::NegMulAdd(half, r, hn::Set(d, 1.5F)));
}

// s^-3/4.
template <typename D, typename V>
V ToMinusBeta(D d, V s) {
  const V r = ReciprocalRoot(d, s);
  return hn::Mul(r, hn::Sqrt(r));
}

// Rows of what is summed over neighbours, of the channels around one.
class Ring {
 public:
  explicit Ring(int64_t channels) : channels_(channels) {}
  float* row(int64_t channel) { return rows_[channel % kRing]; }
  // The sum at a pixel over the channels around.
  template <typename D>
  hn::VFromD<D> Sum(D d, int64_t channel, int64_t pixel) {
    auto sum = hn::Zero(d);
    const int64_t last = std::min(channels_ - 1, channel + kReach);
    for (int64_t c = std::max<int64_t>(0, channel - kReach); c <= last; ++c)
      sum = hn::Add(sum, hn::LoadU(d, row(c) + pixel));
    return sum;
  }

 private:
  int64_t channels_;
  HWY_ALIGN float rows_[kRing][kPixels];
};

// Fills the ring's rows as they are needed, and calls at(ring, channel) for each channel.
template <typename Fill, typename At>
void ForChannels(int64_t channels, Fill fill, At at) {
  Ring ring(channels);
  for (int64_t c = 0; c < channels + kReach; ++c) {
    if (c < channels) fill(ring.row(c), c);
    if (c >= kReach) at(ring, c - kReach);
  }
}

void LrnForwardBlock(const Activations& shape, int64_t begin, int64_t pixels, const float* x, float* y,
                     float* scale) {
  ForChannels(
      shape.c,
      [&](float* row, int64_t c) {
        const float* const from = x + begin + c * shape.pixels();
        ForValues(pixels, [&](auto d, int64_t i) {
          const auto value = hn::LoadU(d, from + i);
          hn::StoreU(hn::Mul(value, value), d, row + i);
        });
      },
      [&](Ring& ring, int64_t c) {
        const int64_t at = begin + c * shape.pixels();
        ForValues(pixels, [&](auto d, int64_t i) {
          const auto s = hn::MulAdd(hn::Set(d, kAlpha), ring.Sum(d, c, i), hn::Set(d, kBias));
          hn::StoreU(s, d, scale + at + i);
          hn::StoreU(hn::Mul(hn::LoadU(d, x + at + i), ToMinusBeta(d, s)), d, y + at + i);
        });
      });
}

void LrnBackwardBlock(const Activations& shape, int64_t begin, int64_t pixels, const float* x, const float* y,
                      const float* scale, const float* dy, float* dx) {
  ForChannels(
      shape.c,
      [&](float* row, int64_t c) {
        const int64_t at = begin + c * shape.pixels();
        ForValues(pixels, [&](auto d, int64_t i) {
          const auto product = hn::Mul(hn::LoadU(d, dy + at + i), hn::LoadU(d, y + at + i));
          const auto r = ReciprocalRoot(d, hn::LoadU(d, scale + at + i));
          hn::StoreU(hn::Mul(product, hn::Mul(r, r)), d, row + i);
        });
      },
      [&](Ring& ring, int64_t c) {
        const int64_t at = begin + c * shape.pixels();
        ForValues(pixels, [&](auto d, int64_t i) {
          const auto own = hn::Mul(hn::LoadU(d, dy + at + i), ToMinusBeta(d, hn::LoadU(d, scale + at + i)));
          const auto shared = hn::Mul(hn::LoadU(d, x + at + i), ring.Sum(d, c, i));
          hn::StoreU(hn::NegMulAdd(hn::Set(d, 2 * kAlpha * kBeta), shared, own), d, dx + at + i);
        });
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {

HWY_EXPORT(LrnForwardBlock);
HWY_EXPORT(LrnBackwardBlock);

// Calls at(offset of the first pixel, pixels) for blocks of each image, on all threads.
template <typename At>
void for_blocks(const Activations& shape, At at) {
  constexpr int64_t block = HWY_NAMESPACE::kPixels;
  const int64_t blocks = (shape.pixels() + block - 1) / block;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t n = 0; n < shape.n; ++n)
    for (int64_t i = 0; i < blocks; ++i)
      at(n * shape.c * shape.pixels() + i * block, std::min(block, shape.pixels() - i * block));
}

}  // namespace

void lrn_forward(const Activations& shape, const float* x, float* y, float* scale) {
  const auto block = HWY_DYNAMIC_DISPATCH(LrnForwardBlock);
  for_blocks(shape, [&](int64_t begin, int64_t pixels) { block(shape, begin, pixels, x, y, scale); });
}

void lrn_backward(const Activations& shape, const float* x, const float* y, const float* scale,
                  const float* dy, float* dx) {
  const auto block = HWY_DYNAMIC_DISPATCH(LrnBackwardBlock);
  for_blocks(shape, [&](int64_t begin, int64_t pixels) { block(shape, begin, pixels, x, y, scale, dy, dx); });
}

}  // namespace convscope
#endif
