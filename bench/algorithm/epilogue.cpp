// Compiled once for each instruction set by Highway's foreach_target. See epilogue.hpp.
#include "bench/algorithm/epilogue.hpp"

#include <algorithm>

#include "bench/core/rounding.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/algorithm/epilogue.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

template <bool kRelu>
HWY_INLINE Vector finished(Vector sum, Vector bias) {
  const Vector value = hn::Add(sum, bias);
  return kRelu ? hn::IfThenZeroElse(hn::Lt(value, hn::Zero(Tag())), value) : value;
}

template <bool kRelu>
HWY_INLINE float finished(float sum, float bias) {
  const float value = sum + bias;
  return kRelu && value < 0 ? 0 : value;
}

// `bias(i)` and `biases(i)` are those of element i, and of the whole vector that begins there.
template <bool kRelu, typename Bias, typename Biases>
HWY_INLINE void finish_row(float* values, int64_t columns, const Bias& bias, const Biases& biases) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= columns; i += lanes)
    hn::StoreU(finished<kRelu>(hn::LoadU(d, values + i), biases(i)), d, values + i);
  for (; i < columns; ++i) values[i] = finished<kRelu>(values[i], bias(i));
}

template <bool kRelu>
void rows_of(const float* bias, float* values, int64_t row_step, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row, values += row_step) {
    const float one = bias == nullptr ? 0 : bias[row];
    const Vector all = hn::Set(Tag(), one);
    finish_row<kRelu>(
        values, columns, [=](int64_t) { return one; }, [=](int64_t) HWY_ATTR { return all; });
  }
}

template <bool kRelu>
void columns_of(const float* bias, float* values, int64_t row_step, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row, values += row_step)
    finish_row<kRelu>(
        values, columns, [=](int64_t i) { return bias == nullptr ? 0 : bias[i]; },
        [=](int64_t i) HWY_ATTR { return bias == nullptr ? hn::Zero(Tag()) : hn::LoadU(Tag(), bias + i); });
}

}  // namespace

void FinishRows(bool relu, const float* bias, float* values, int64_t row_step, int64_t rows,
                int64_t columns) {
  (relu ? rows_of<true> : rows_of<false>)(bias, values, row_step, rows, columns);
}

void FinishColumns(bool relu, const float* bias, float* values, int64_t row_step, int64_t rows,
                   int64_t columns) {
  (relu ? columns_of<true> : columns_of<false>)(bias, values, row_step, rows, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {

HWY_EXPORT(FinishRows);
HWY_EXPORT(FinishColumns);

}  // namespace

void finish_rows(Epilogue epilogue, const float* bias, float* values, int64_t row_step, int64_t rows,
                 int64_t columns) {
  if (epilogue == Epilogue::none) return;
  HWY_DYNAMIC_DISPATCH(FinishRows)
  (has_relu(epilogue), has_bias(epilogue) ? bias : nullptr, values, row_step, rows, columns);
}

void finish_columns(Epilogue epilogue, const float* bias, float* values, int64_t row_step, int64_t rows,
                    int64_t columns) {
  if (epilogue == Epilogue::none) return;
  HWY_DYNAMIC_DISPATCH(FinishColumns)
  (has_relu(epilogue), has_bias(epilogue) ? bias : nullptr, values, row_step, rows, columns);
}

namespace {

// Where channels are innermost: threads take shares of the pixels.
void finish_pixels(Epilogue epilogue, const float* bias, float* values, int64_t pixels, int64_t channels,
                   int threads) {
  constexpr int64_t kShare = 16;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t share = 0; share < ceil_div(pixels, kShare); ++share) {
    const int64_t first = share * kShare;
    finish_columns(epilogue, bias, values + first * channels, channels, std::min(kShare, pixels - first),
                   channels);
  }
}

}  // namespace

void finish_planes(Epilogue epilogue, const float* bias, float* values, int64_t images, int64_t channels,
                   int64_t pixels, int threads) {
  if (pixels == 1) return finish_pixels(epilogue, bias, values, images, channels, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t plane = 0; plane < images * channels; ++plane)
    finish_rows(epilogue, bias_from(bias, plane % channels), values + plane * pixels, pixels, 1, pixels);
}

void finish_output(const ConvProblem& problem, const float* bias, float* output, int threads) {
  const Extent2 image = problem.output();
  const int64_t images = problem.batch, channels = problem.out_channels, pixels = image.h * image.w;
  switch (problem.layout) {
    case Layout::nchw:
      return finish_planes(problem.epilogue, bias, output, images, channels, pixels, threads);
    case Layout::nhwc:
      return finish_pixels(problem.epilogue, bias, output, images * pixels, channels, threads);
    case Layout::chwn:
      return finish_planes(problem.epilogue, bias, output, 1, channels, pixels * images, threads);
  }
}

}  // namespace convscope
#endif
