// Pooling in the legacy API: the largest value of a window or the mean of its values. By the definition, sums
// in f64.
#include <algorithm>
#include <limits>
#include <vector>

#include "bench/standin/libraries/cudnn/operation_call.hpp"

namespace convscope::standin {
namespace {

bool is_pooled(const cudnnPoolingStruct* descriptor, const cudnnTensorStruct* x, const cudnnTensorStruct* y) {
  const cudnnPoolingStruct pool = set_in(descriptor);
  const auto [n, c, h, w] = sizes(x);
  return sizes(y) == std::array<int64_t, 4>{n, c, (h + 2 * pool.pad.h - pool.window.h) / pool.stride.h + 1,
                                            (w + 2 * pool.pad.w - pool.window.w) / pool.stride.w + 1};
}

// Calls at(places in x of what of a window is in the image, place in y) for every window.
template <typename At>
void for_each_window(const cudnnPoolingStruct& pool, const In& x, int64_t out_h, int64_t out_w,
                     const At& at) {
  std::vector<int64_t> cells;
  int64_t to = 0;
  for (int64_t plane = 0; plane < x.n * x.c; ++plane)
    for (int64_t p = 0; p < out_h; ++p)
      for (int64_t q = 0; q < out_w; ++q, ++to) {
        cells.clear();
        for (int64_t r = 0; r < pool.window.h; ++r)
          for (int64_t s = 0; s < pool.window.w; ++s) {
            const int64_t h = p * pool.stride.h - pool.pad.h + r, w = q * pool.stride.w - pool.pad.w + s;
            if (h < 0 || h >= x.h || w < 0 || w >= x.w) continue;
            cells.push_back(plane * x.pixels() + h * x.w + w);
          }
        at(cells, to);
      }
}
// The first of equal ones.
int64_t largest(const In& x, const std::vector<int64_t>& cells) {
  return *std::ranges::max_element(cells, {}, [&](int64_t cell) { return x.data[cell]; });
}
bool is_mean(const cudnnPoolingStruct& pool) {
  return pool.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ||
         pool.mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
}
double cells_of_mean(const cudnnPoolingStruct& pool, const std::vector<int64_t>& cells) {
  return pool.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
             ? static_cast<double>(pool.window.h * pool.window.w)
             : static_cast<double>(cells.size());
}
double mean(const cudnnPoolingStruct& pool, const In& x, const std::vector<int64_t>& cells) {
  double sum = 0;
  for (int64_t cell : cells) sum += x.data[cell];
  return sum / cells_of_mean(pool, cells);
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int window_h, int window_w, int pad_h,
                                          int pad_w, int stride_h, int stride_w) {
  if (const Fault fault = enter_cudnn("cudnnSetPooling2dDescriptor")) return failed(fault);
  if (descriptor == nullptr || mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC)
    return failed(CUDNN_STATUS_BAD_PARAM, "a mode of pooling");
  if (window_h < 1 || window_w < 1 || pad_h < 0 || pad_h >= window_h || pad_w < 0 || pad_w >= window_w ||
      stride_h < 1 || stride_w < 1)
    return failed(CUDNN_STATUS_BAD_PARAM, "a window, padding or stride");
  *descriptor = {true, mode, {window_h, window_w}, {stride_h, stride_w}, {pad_h, pad_w}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pool,
                                  const void* alpha, const cudnnTensorDescriptor_t x, const void* x_data,
                                  const void* beta, const cudnnTensorDescriptor_t y, void* y_data) {
  const Call call{"cudnnPoolingForward",         handle,       {x, y},
                  {alpha, beta, x_data, y_data}, is_set(pool), is_pooled(pool, x, y)};
  return run(call, [=, how = set_in(pool), from = in(x, x_data), to = out(y, y_data)](const Scales& scales) {
    for_each_window(how, from, to.h, to.w, [&](const std::vector<int64_t>& cells, int64_t at) {
      put(to.data[at], is_mean(how) ? mean(how, from, cells) : from.data[largest(from, cells)], scales);
    });
  });
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pool,
                                   const void* alpha, const cudnnTensorDescriptor_t y, const void* y_data,
                                   const cudnnTensorDescriptor_t dy, const void* dy_data,
                                   const cudnnTensorDescriptor_t x, const void* x_data, const void* beta,
                                   const cudnnTensorDescriptor_t dx, void* dx_data) {
  const Call call{"cudnnPoolingBackward", handle,
                  {y, dy, x, dx},         {alpha, beta, y_data, dy_data, x_data, dx_data},
                  is_set(pool),           same(y, dy) && same(x, dx) && is_pooled(pool, x, y)};
  return run(call, [=, how = set_in(pool), result = in(y, y_data), gradient = in(dy, dy_data),
                    from = in(x, x_data), to = out(dx, dx_data)](const Scales& scales) {
    std::vector<double> sums(static_cast<size_t>(to.elements()));
    for_each_window(how, from, result.h, result.w, [&](const std::vector<int64_t>& cells, int64_t at) {
      if (is_mean(how)) {
        for (int64_t cell : cells)
          sums[static_cast<size_t>(cell)] += gradient.data[at] / cells_of_mean(how, cells);
        return;
      }
      // By what forward left, too: a y that is not this x's gives NaN.
      const int64_t best = largest(from, cells);
      const bool is_maximum = from.data[best] == result.data[at];
      sums[static_cast<size_t>(best)] +=
          is_maximum ? double{gradient.data[at]} : std::numeric_limits<double>::quiet_NaN();
    });
    for (int64_t i = 0; i < to.elements(); ++i) put(to.data[i], sums[static_cast<size_t>(i)], scales);
  });
}

}  // extern "C"

CONVSCOPE_DESCRIPTOR(Pooling)
