// Max pooling of operations.hpp, on Highway. A row of windows in three steps, each a loop over a row: the
// largest of each column, the largest of each run of columns, every stride-th of those. With each value goes
// its place in the image.
#include <algorithm>
#include <limits>

#include "bench/operation/operations.hpp"
#include "bench/operation/pool_row.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/operation/pool.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// value[i] = max(value[i], other[i]) for `count` values and up to a vector more, each with its place; of
// equal ones with the first place. With kLater, all places in `other` come after those in `value`.
template <bool kLater>
void TakeLarger(int64_t count, const float* other, const int32_t* other_place, float* value, int32_t* place) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) {
    const auto mine = hn::LoadU(d, value + i), others = hn::LoadU(d, other + i);
    const auto my_place = hn::LoadU(di, place + i), others_place = hn::LoadU(di, other_place + i);
    auto is_taken = hn::Gt(others, mine);
    if constexpr (!kLater) {
      const auto is_before = hn::RebindMask(d, hn::Lt(others_place, my_place));
      is_taken = hn::Or(is_taken, hn::And(hn::Eq(others, mine), is_before));
    }
    hn::StoreU(hn::IfThenElse(is_taken, others, mine), d, value + i);
    hn::StoreU(hn::IfThenElse(hn::RebindMask(di, is_taken), others_place, my_place), di, place + i);
  }
}

// A row of windows, which are over these rows of the image.
void PoolRowOfWindows(const float* image, int64_t width, RowRange rows, const LayerOperation& pool,
                      int64_t outputs, PoolRow& row, PoolRow& other, float* y, int32_t* winner) {
  const int64_t first = rows.first;
  const int64_t pad = pool.pad.w;
  const auto load = [&](int64_t h, PoolRow& to) {
    std::copy_n(image + h * width, width, to.value.data() + pad);
    for (int64_t w = 0; w < width; ++w)
      to.place[static_cast<size_t>(pad + w)] = static_cast<int32_t>(h * width + w);
  };
  load(first, row);
  for (int64_t h = first + 1; h < rows.end; ++h) {
    load(h, other);
    TakeLarger<true>(width, other.value.data() + pad, other.place.data() + pad, row.value.data() + pad,
                     row.place.data() + pad);
  }
  // After the rows, as a whole vector may have been stored behind the last column.
  std::fill_n(row.value.data(), pad, -std::numeric_limits<float>::infinity());
  std::fill_n(row.value.data() + pad + width, pad, -std::numeric_limits<float>::infinity());
  std::fill_n(row.place.data(), pad, static_cast<int32_t>(first * width));
  std::fill_n(row.place.data() + pad + width, pad, static_cast<int32_t>(first * width + width - 1));
  const int64_t columns = (outputs - 1) * pool.stride.w + 1;
  std::copy_n(row.value.data(), columns, other.value.data());
  std::copy_n(row.place.data(), columns, other.place.data());
  for (int64_t s = 1; s < pool.window.w; ++s)
    TakeLarger<false>(columns, row.value.data() + s, row.place.data() + s, other.value.data(),
                      other.place.data());
  for (int64_t q = 0; q < outputs; ++q) {
    y[q] = other.value[static_cast<size_t>(q * pool.stride.w)];
    winner[q] = other.place[static_cast<size_t>(q * pool.stride.w)];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {

HWY_EXPORT(PoolRowOfWindows);

}  // namespace

void max_pool_forward(const Activations& in, const LayerOperation& pool, const float* x, float* y,
                      int32_t* winner) {
  const Extent2 out = pool.output({in.h, in.w});
  const auto row_of_windows = HWY_DYNAMIC_DISPATCH(PoolRowOfWindows);
#pragma omp parallel
  {
    PoolRow row(in.w, pool.pad.w + pool.window.w), other(in.w, pool.pad.w + pool.window.w);
#pragma omp for schedule(static)
    for (int64_t plane = 0; plane < in.n * in.c; ++plane)
      for (int64_t p = 0; p < out.h; ++p) {
        const RowRange rows = rows_of_windows(in, pool, p);
        const int64_t to = (plane * out.h + p) * out.w;
        row_of_windows(x + plane * in.pixels(), in.w, rows, pool, out.w, row, other, y + to, winner + to);
      }
  }
}

void max_pool_backward(const Activations& in, const LayerOperation& pool, const int32_t* winner,
                       const float* dy, float* dx) {
  const Extent2 out = pool.output({in.h, in.w});
  const int64_t outputs = out.h * out.w;
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < in.n * in.c; ++plane) {
    float* const gradient = dx + plane * in.pixels();
    std::fill_n(gradient, in.pixels(), 0.0F);
    for (int64_t i = plane * outputs; i < (plane + 1) * outputs; ++i) gradient[winner[i]] += dy[i];
  }
}

}  // namespace convscope
#endif
