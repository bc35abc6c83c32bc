// Mean pooling of operations.hpp, on Highway. A row of windows in three steps, each a loop over a row: the
// sum of each column, the sum of each run of columns, every stride-th of those over its number of cells.
// Backward is the same from the end: each row of gradients, over those numbers and spread by the stride, with
// zeros between, summed over rows and then over runs.
#include <algorithm>

#include "bench/operation/operations.hpp"
#include "bench/operation/pool_row.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/operation/mean_pool.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/operation/values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// to[i] = the sum of weight * row[i] over consecutive rows.
void SumRows(int64_t count, const float* first, int64_t rows, const float* weights, float* to) {
  ForValues(count, [=](auto d, int64_t i) {
    auto sum = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r)
      sum = hn::MulAdd(hn::Set(d, weights[r]), hn::LoadU(d, first + r * count + i), sum);
    hn::StoreU(sum, d, to + i);
  });
}

// to[i] = from[i] + ... + from[i + taps - 1].
void SumRuns(int64_t count, const float* from, int64_t taps, float* to) {
  ForValues(count, [=](auto d, int64_t i) {
    auto sum = hn::LoadU(d, from + i);
    for (int64_t s = 1; s < taps; ++s) sum = hn::Add(sum, hn::LoadU(d, from + i + s));
    hn::StoreU(sum, d, to + i);
  });
}

// value[i] /= factor * by[i].
void Divide(int64_t count, const float* by, float factor, float* value) {
  ForValues(count, [=](auto d, int64_t i) {
    const auto divisor = hn::Mul(hn::Set(d, factor), hn::LoadU(d, by + i));
    hn::StoreU(hn::Div(hn::LoadU(d, value + i), divisor), d, value + i);
  });
}

// Row p of the windows, which are over these rows of the image.
void MeanRowOfWindows(const float* image, int64_t width, RowRange rows, const LayerOperation& pool, int64_t p,
                      MeanRows& scratch, float* y) {
  const auto outputs = static_cast<int64_t>(scratch.cells_w.size());
  float* const row = scratch.padded.data();
  SumRows(width, image + rows.first * width, rows.count(), scratch.weights.data(), row + pool.pad.w);
  if (pool.stride.w == 1) {
    SumRuns(outputs, row, pool.window.w, y);
  } else {
    float* const runs = scratch.sums.data();
    SumRuns((outputs - 1) * pool.stride.w + 1, row, pool.window.w, runs);
    for (int64_t q = 0; q < outputs; ++q) y[q] = runs[q * pool.stride.w];
  }
  Divide(outputs, scratch.cells_w.data(), scratch.cells_h[static_cast<size_t>(p)], y);
}

// A plane. Its rows are spread all before any is summed over runs: a vector that is read right after the
// single values that it is made of were stored waits for them.
void MeanPlaneOfGradients(const float* dy, const Activations& in, const LayerOperation& pool,
                          MeanRows& scratch, float* dx) {
  const auto outputs = static_cast<int64_t>(scratch.cells_w.size());
  float* const sums = scratch.sums.data();
  for (int64_t h = 0; h < in.h; ++h) {
    const RowRange windows = windows_of_row(pool, h, static_cast<int64_t>(scratch.cells_h.size()));
    SumRows(outputs, dy + windows.first * outputs, windows.count(), scratch.weights.data() + windows.first,
            sums);
    Divide(outputs, scratch.cells_w.data(), 1, sums);
    float* const spread = scratch.padded.data() + h * scratch.pitch + pool.window.w - 1;
    for (int64_t q = 0; q < outputs; ++q) spread[q * pool.stride.w] = sums[q];
  }
  for (int64_t h = 0; h < in.h; ++h)
    SumRuns(in.w, scratch.padded.data() + h * scratch.pitch + pool.pad.w, pool.window.w, dx + h * in.w);
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {

HWY_EXPORT(MeanRowOfWindows);
HWY_EXPORT(MeanPlaneOfGradients);

}  // namespace

void mean_pool_forward(const Activations& in, const LayerOperation& pool, const float* x, float* y) {
  const Extent2 out = pool.output({in.h, in.w});
  const auto row_of_windows = HWY_DYNAMIC_DISPATCH(MeanRowOfWindows);
#pragma omp parallel
  {
    MeanRows scratch(in, pool, 1);
#pragma omp for schedule(static)
    for (int64_t plane = 0; plane < in.n * in.c; ++plane)
      for (int64_t p = 0; p < out.h; ++p)
        row_of_windows(x + plane * in.pixels(), in.w, rows_of_windows(in, pool, p), pool, p, scratch,
                       y + (plane * out.h + p) * out.w);
  }
}

void mean_pool_backward(const Activations& in, const LayerOperation& pool, const float* dy, float* dx) {
  const Extent2 out = pool.output({in.h, in.w});
  const auto plane_of_gradients = HWY_DYNAMIC_DISPATCH(MeanPlaneOfGradients);
#pragma omp parallel
  {
    MeanRows scratch(in, pool, in.h);
    for (int64_t p = 0; p < out.h; ++p)
      scratch.weights[static_cast<size_t>(p)] = 1 / scratch.cells_h[static_cast<size_t>(p)];
#pragma omp for schedule(static)
    for (int64_t plane = 0; plane < in.n * in.c; ++plane)
      plane_of_gradients(dy + plane * out.h * out.w, in, pool, scratch, dx + plane * in.pixels());
  }
}

}  // namespace convscope
#endif
