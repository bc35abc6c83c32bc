#include "bench/operation/operations.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/algorithm/epilogue.hpp"

namespace convscope {
namespace {

void sum_over_channels(const Activations& shape, const float* values, float* sums) {
  const int64_t pixels = shape.pixels();
  if (pixels == 1) {
#pragma omp parallel for simd schedule(static)
    for (int64_t c = 0; c < shape.c; ++c) {
      float sum = 0;
      for (int64_t n = 0; n < shape.n; ++n) sum += values[n * shape.c + c];
      sums[c] = sum;
    }
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < shape.c; ++channel) {
    double sum = 0;
    for (int64_t n = 0; n < shape.n; ++n) {
      const float* const plane = values + (n * shape.c + channel) * pixels;
      float of_image = 0;
#pragma omp simd reduction(+ : of_image)
      for (int64_t i = 0; i < pixels; ++i) of_image += plane[i];
      sum += of_image;
    }
    sums[channel] = static_cast<float>(sum);
  }
}

}  // namespace

void bias_relu_forward(const Activations& shape, const float* bias, bool relu, float* y) {
  const Epilogue with_bias = relu ? Epilogue::bias_relu : Epilogue::bias;
  const Epilogue epilogue = bias != nullptr ? with_bias : relu ? Epilogue::relu : Epilogue::none;
  finish_planes(epilogue, bias, y, shape.n, shape.c, shape.pixels(), omp_get_max_threads());
}

void bias_relu_backward(const Activations& shape, const float* y, bool relu, float* dy, float* dbias) {
  if (!relu) {
    if (dbias != nullptr) sum_over_channels(shape, dy, dbias);
    return;
  }
  const int64_t pixels = shape.pixels();
  if (pixels == 1) {
#pragma omp parallel for simd schedule(static)
    for (int64_t c = 0; c < shape.c; ++c) {
      float sum = 0;
      for (int64_t n = 0; n < shape.n; ++n) {
        const int64_t at = n * shape.c + c;
        dy[at] = y[at] > 0 ? dy[at] : 0.0F;
        sum += dy[at];
      }
      if (dbias != nullptr) dbias[c] = sum;
    }
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < shape.c; ++channel) {
    double sum = 0;
    for (int64_t n = 0; n < shape.n; ++n) {
      const int64_t plane = (n * shape.c + channel) * pixels;
      float of_image = 0;
#pragma omp simd reduction(+ : of_image)
      for (int64_t i = 0; i < pixels; ++i) {
        dy[plane + i] = y[plane + i] > 0 ? dy[plane + i] : 0.0F;
        of_image += dy[plane + i];
      }
      sum += of_image;
    }
    if (dbias != nullptr) dbias[channel] = static_cast<float>(sum);
  }
}

void softmax_loss(const Activations& shape, const float* x, const int32_t* labels, double* losses,
                  float* dx) {
  const int64_t pixels = shape.pixels();
#pragma omp parallel for schedule(static)
  for (int64_t n = 0; n < shape.n; ++n) {
    const float* const image = x + n * shape.c * pixels;
    float* const gradient = dx + n * shape.c * pixels;
    std::vector<double> share(static_cast<size_t>(shape.c));
    for (int64_t c = 0; c < shape.c; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < pixels; ++i) sum += image[c * pixels + i];
      share[static_cast<size_t>(c)] = sum / static_cast<double>(pixels);
    }
    const auto label = static_cast<size_t>(labels[n]);
    const double largest = *std::max_element(share.begin(), share.end());
    const double of_label = share[label] - largest;
    double total = 0;
    for (double& value : share) total += value = std::exp(value - largest);
    losses[n] = std::log(total) - of_label;
    for (int64_t c = 0; c < shape.c; ++c) {
      const double wanted = static_cast<size_t>(c) == label ? 1 : 0;
      const double slope =
          (share[static_cast<size_t>(c)] / total - wanted) / static_cast<double>(shape.n * pixels);
      std::fill_n(gradient + c * pixels, pixels, static_cast<float>(slope));
    }
  }
}

void code_by_one_bit(const Columns& columns, float* gradient, float* error, uint32_t* codes) {
#pragma omp parallel
  {
    const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t first = columns.count * thread / threads, end = columns.count * (thread + 1) / threads;
    const Columns own = columns.range(first, end);
    const std::span values(gradient + first * columns.values, own.elements());
    const std::span code(codes + static_cast<size_t>(first) * columns.words_of_column(), own.encoded_words());
    encode(own, values, {error + first * columns.values, own.elements()}, code);
    decode(own, code, values);
  }
}

void update(const UpdateRule& rule, int64_t values, const float* gradient, float* velocity, float* weight) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < values; ++i) {
    velocity[i] = rule.momentum * velocity[i] + gradient[i] + rule.decay * weight[i];
    weight[i] -= rule.rate * velocity[i];
  }
}

}  // namespace convscope
