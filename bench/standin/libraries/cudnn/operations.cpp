// What stands between convolutions, in the legacy API: bias, additions, ReLU, local response normalisation
// across channels, batch normalisation. By the definition, sums in f64. Pooling is in pooling.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "bench/standin/libraries/cudnn/operation_call.hpp"

namespace convscope::standin {
namespace {

// The sum of value(element) over the channels around an element.
template <typename Value>
double around(const cudnnLRNStruct& lrn, const In& x, int64_t i, const Value& value) {
  const int64_t channel = i / x.pixels() % x.c;
  double sum = 0;
  for (int64_t c = std::max<int64_t>(0, channel - lrn.reach); c <= std::min(x.c - 1, channel + lrn.reach);
       ++c)
    sum += value(i + (c - channel) * x.pixels());
  return sum;
}

// cuDNN divides alpha by the number of channels.
double alpha_of(const cudnnLRNStruct& lrn) {
  return lrn.alpha / static_cast<double>(2 * lrn.reach + 1);
}
double scale(const cudnnLRNStruct& lrn, const In& x, int64_t i) {
  const auto square = [&](int64_t at) { return double{x.data[at]} * x.data[at]; };
  return lrn.bias + alpha_of(lrn) * around(lrn, x, i, square);
}

void normalise_backward(const cudnnLRNStruct& lrn, const In& y, const In& dy, const In& x, const Out& dx,
                        const Scales& scales) {
  std::vector<double> shared(static_cast<size_t>(x.elements())), own = shared;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double s = scale(lrn, x, i);
    own[static_cast<size_t>(i)] = dy.data[i] * std::pow(s, -lrn.beta);
    shared[static_cast<size_t>(i)] = double{dy.data[i]} * y.data[i] / s;
  }
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double sum = around(lrn, x, i, [&](int64_t at) { return shared[static_cast<size_t>(at)]; });
    put(dx.data[i], own[static_cast<size_t>(i)] - 2 * alpha_of(lrn) * lrn.beta * x.data[i] * sum, scales);
  }
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t bias,
                             const void* bias_data, const void* beta, const cudnnTensorDescriptor_t all,
                             void* data) {
  const bool is_whole = same(bias, all);
  const Call call{"cudnnAddTensor",
                  handle,
                  {bias, all},
                  {alpha, beta, bias_data, data},
                  true,
                  is_whole || is_one_a_channel(bias, all)};
  return run(call, [=, one = in(bias, bias_data), to = out(all, data)](const Scales& scales) {
    for (int64_t i = 0; i < to.elements(); ++i)
      put(to.data[i], one.data[is_whole ? i : i / to.pixels() % to.c], scales);
  });
}
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha,
                                           const cudnnTensorDescriptor_t dy, const void* dy_data,
                                           const void* beta, const cudnnTensorDescriptor_t db,
                                           void* db_data) {
  const Call call{"cudnnConvolutionBackwardBias",  handle, {dy, db},
                  {alpha, beta, dy_data, db_data}, true,   is_one_a_channel(db, dy)};
  return run(call, [=, from = in(dy, dy_data), to = out(db, db_data)](const Scales& scales) {
    std::vector<double> sums(static_cast<size_t>(from.c));
    for (int64_t i = 0; i < from.elements(); ++i)
      sums[static_cast<size_t>(i / from.pixels() % from.c)] += from.data[i];
    for (int64_t c = 0; c < from.c; ++c) put(to.data[c], sums[static_cast<size_t>(c)], scales);
  });
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double) {
  if (const Fault fault = enter_cudnn("cudnnSetActivationDescriptor")) return failed(fault);
  if (descriptor == nullptr || mode != CUDNN_ACTIVATION_RELU)
    return failed(CUDNN_STATUS_BAD_PARAM, "the stand-in only knows ReLU");
  descriptor->is_set = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t relu,
                                     const void* alpha, const cudnnTensorDescriptor_t x, const void* x_data,
                                     const void* beta, const cudnnTensorDescriptor_t y, void* y_data) {
  const Call call{"cudnnActivationForward",      handle,       {x, y},
                  {alpha, beta, x_data, y_data}, is_set(relu), same(x, y)};
  return run(call, [=, from = in(x, x_data), to = out(y, y_data)](const Scales& scales) {
    for (int64_t i = 0; i < to.elements(); ++i) put(to.data[i], std::max(from.data[i], 0.0f), scales);
  });
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t relu,
                                      const void* alpha, const cudnnTensorDescriptor_t y, const void* y_data,
                                      const cudnnTensorDescriptor_t dy, const void* dy_data,
                                      const cudnnTensorDescriptor_t x, const void* x_data, const void* beta,
                                      const cudnnTensorDescriptor_t dx, void* dx_data) {
  const Call call{"cudnnActivationBackward",
                  handle,
                  {y, dy, x, dx},
                  {alpha, beta, y_data, dy_data, x_data, dx_data},
                  is_set(relu),
                  same(y, dy) && same(y, x) && same(y, dx)};
  return run(call,
             [=, gate = in(x, x_data), from = in(dy, dy_data), to = out(dx, dx_data)](const Scales& scales) {
               for (int64_t i = 0; i < to.elements(); ++i)
                 put(to.data[i], gate.data[i] > 0 ? from.data[i] : 0.0f, scales);
             });
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned channels, double alpha,
                                    double beta, double bias) {
  if (const Fault fault = enter_cudnn("cudnnSetLRNDescriptor")) return failed(fault);
  if (descriptor == nullptr || channels < CUDNN_LRN_MIN_N || channels > CUDNN_LRN_MAX_N ||
      channels % 2 == 0 || bias < CUDNN_LRN_MIN_K || beta < CUDNN_LRN_MIN_BETA)
    return failed(CUDNN_STATUS_BAD_PARAM, "the constants of a normalisation");
  *descriptor = {true, (channels - 1) / 2, alpha, beta, bias};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn, cudnnLRNMode_t,
                                          const void* alpha, const cudnnTensorDescriptor_t x,
                                          const void* x_data, const void* beta,
                                          const cudnnTensorDescriptor_t y, void* y_data) {
  const Call call{"cudnnLRNCrossChannelForward", handle,      {x, y},
                  {alpha, beta, x_data, y_data}, is_set(lrn), same(x, y)};
  return run(call, [=, how = set_in(lrn), from = in(x, x_data), to = out(y, y_data)](const Scales& scales) {
    for (int64_t i = 0; i < to.elements(); ++i)
      put(to.data[i], from.data[i] * std::pow(scale(how, from, i), -how.beta), scales);
  });
}
cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn, cudnnLRNMode_t,
                                           const void* alpha, const cudnnTensorDescriptor_t y,
                                           const void* y_data, const cudnnTensorDescriptor_t dy,
                                           const void* dy_data, const cudnnTensorDescriptor_t x,
                                           const void* x_data, const void* beta,
                                           const cudnnTensorDescriptor_t dx, void* dx_data) {
  const Call call{"cudnnLRNCrossChannelBackward",
                  handle,
                  {y, dy, x, dx},
                  {alpha, beta, y_data, dy_data, x_data, dx_data},
                  is_set(lrn),
                  same(y, dy) && same(y, x) && same(y, dx)};
  return run(call, [=, how = set_in(lrn), result = in(y, y_data), gradient = in(dy, dy_data),
                    from = in(x, x_data), to = out(dx, dx_data)](const Scales& scales) {
    normalise_backward(how, result, gradient, from, to, scales);
  });
}

// Without running averages, for which there is nothing to average over.
cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t x, const void* x_data, const cudnnTensorDescriptor_t y, void* y_data,
    const cudnnTensorDescriptor_t channels, const void* scale, const void* shift, double, void* running_mean,
    void* running_variance, double epsilon, void* mean, void* reciprocal) {
  const Call call{"cudnnBatchNormalizationForwardTraining",
                  handle,
                  {x, y, channels},
                  {alpha, beta, x_data, y_data, scale, shift, mean, reciprocal},
                  mode == CUDNN_BATCHNORM_SPATIAL && running_mean == nullptr && running_variance == nullptr,
                  same(x, y) && is_one_a_channel(channels, x) && epsilon >= CUDNN_BN_MIN_EPSILON};
  return run(call, [=, from = in(x, x_data), to = out(y, y_data), factor = static_cast<const float*>(scale),
                    added = static_cast<const float*>(shift), means = static_cast<float*>(mean),
                    reciprocals = static_cast<float*>(reciprocal)](const Scales& scales) {
    const auto count = static_cast<double>(from.n * from.pixels());
    for (int64_t c = 0; c < from.c; ++c) {
      double sum = 0, squares = 0;
      for_channel(from, c, [&](int64_t i) { sum += from.data[i]; });
      for_channel(from, c, [&](int64_t i) { squares += std::pow(from.data[i] - sum / count, 2); });
      const double one_over = 1 / std::sqrt(squares / count + epsilon);
      for_channel(from, c, [&](int64_t i) {
        put(to.data[i], (from.data[i] - sum / count) * one_over * factor[c] + added[c], scales);
      });
      means[c] = static_cast<float>(sum / count);
      reciprocals[c] = static_cast<float>(one_over);
    }
  });
}
cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    const void* parameter_alpha, const void* parameter_beta, const cudnnTensorDescriptor_t x,
    const void* x_data, const cudnnTensorDescriptor_t dy, const void* dy_data,
    const cudnnTensorDescriptor_t dx, void* dx_data, const cudnnTensorDescriptor_t channels,
    const void* scale, void* dscale, void* dshift, double epsilon, const void* mean, const void* reciprocal) {
  const Call call{
      "cudnnBatchNormalizationBackward",
      handle,
      {x, dy, dx, channels},
      {alpha, beta, parameter_alpha, parameter_beta, x_data, dy_data, dx_data, scale, dscale, dshift, mean,
       reciprocal},
      mode == CUDNN_BATCHNORM_SPATIAL,
      same(x, dy) && same(x, dx) && is_one_a_channel(channels, x) && epsilon >= CUDNN_BN_MIN_EPSILON};
  return run(
      call, [=, from = in(x, x_data), gradient = in(dy, dy_data), to = out(dx, dx_data),
             factor = static_cast<const float*>(scale), means = static_cast<const float*>(mean),
             reciprocals = static_cast<const float*>(reciprocal), dfactor = static_cast<float*>(dscale),
             dadded = static_cast<float*>(dshift)](const Scales& scales) {
        const auto count = static_cast<double>(from.n * from.pixels());
        for (int64_t c = 0; c < from.c; ++c) {
          const auto normal = [&](int64_t i) { return (double{from.data[i]} - means[c]) * reciprocals[c]; };
          double sum = 0, slope = 0;
          for_channel(from, c, [&](int64_t i) {
            sum += gradient.data[i];
            slope += gradient.data[i] * normal(i);
          });
          for_channel(from, c, [&](int64_t i) {
            const double centred = gradient.data[i] - (sum + slope * normal(i)) / count;
            put(to.data[i], centred * factor[c] * reciprocals[c], scales);
          });
          dfactor[c] = static_cast<float>(slope);
          dadded[c] = static_cast<float>(sum);
        }
      });
}

}  // extern "C"

CONVSCOPE_DESCRIPTOR(Activation)
CONVSCOPE_DESCRIPTOR(LRN)
