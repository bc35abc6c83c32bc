// What a training step computes besides convolutions, on the CPU with OpenMP's threads: bias, ReLU, max and
// mean pooling, normalisation by channel and across channels, additions, the loss and the update, forward and
// backward. Activations are dense f32 in nchw; every function writes its result completely. A pass over
// memory each: a bias, a normalisation by channel or an addition is one with the ReLU behind it. All sums
// have a fixed order. The mathematics, plainly, is operations_test.cpp's model.
#pragma once

#include <cstdint>

#include "bench/core/operation_problem.hpp"
#include "bench/parallel/reductions/one_bit.hpp"

namespace convscope {

// y += bias of its channel (none where null), then max(y, 0) with `relu`; in place.
void bias_relu_forward(const Activations& shape, const float* bias, bool relu, float* y);
// From dy, in place, to the gradient before bias and ReLU; `y` is what forward left, and with `relu` only
// read. The bias's gradient, the sum over a channel, goes to `dbias` (none where null).
void bias_relu_backward(const Activations& shape, const float* y, bool relu, float* dy, float* dbias);

// `winner` gets the place of each maximum within its image, of equal ones the first in the order of memory,
// as do the kernels of cuda/ and the reference. Where values are NaN it is some cell of the window. An image
// has fewer than 2^31 pixels.
void max_pool_forward(const Activations& in, const LayerOperation& pool, const float* x, float* y,
                      int32_t* winner);
void max_pool_backward(const Activations& in, const LayerOperation& pool, const int32_t* winner,
                       const float* dy, float* dx);

// The mean of each window, of which what is outside the image is zeros; without counts_padding of what is
// inside. Backward needs nothing of forward.
void mean_pool_forward(const Activations& in, const LayerOperation& pool, const float* x, float* y);
void mean_pool_backward(const Activations& in, const LayerOperation& pool, const float* dy, float* dx);

// y = x scale^-3/4 with scale = 2 + 1e-4 (sum of x^2 over the 5 channels around, fewer at the ends).
// Krizhevsky et al. 2012, section 3.3, with its constants.
void lrn_forward(const Activations& shape, const float* x, float* y, float* scale);
void lrn_backward(const Activations& shape, const float* x, const float* y, const float* scale,
                  const float* dy, float* dx);

// y = (x - mean) / sqrt(variance + kBatchNormEpsilon) scale + shift, then max(y, 0) with `relu`: Ioffe and
// Szegedy 2015, the mean and the biased variance over the images and pixels of a channel in this batch.
// `parameters`: a scale for each channel, then a shift for each. `statistics` gets a mean for each channel,
// then 1 / sqrt(variance + epsilon) for each: what backward needs besides x.
void batch_norm_forward(const Activations& shape, const float* x, const float* parameters, bool relu,
                        float* y, float* statistics);
// With `relu`, dy is cut where y was, which is computed again from x and not read. `dparameters`: as
// `parameters`. dx may not be dy.
void batch_norm_backward(const Activations& shape, const float* x, const float* parameters,
                         const float* statistics, bool relu, const float* dy, float* dx, float* dparameters);

// y = a + b, then max(y, 0) with `relu`; y may be a.
void add_forward(int64_t values, const float* a, const float* b, bool relu, float* y);

// Softmax and cross-entropy over the channels of the mean over pixels, in f64. `labels` has a channel for
// each image, `losses` gets each image's loss, and dx the gradient of their mean.
void softmax_loss(const Activations& shape, const float* x, const int32_t* labels, double* losses, float* dx);

// Codes gradient + error by one bit a value (one_bit.hpp), leaves in `gradient` what the code says and in
// `error` what it lost. `codes` has columns.encoded_words().
void code_by_one_bit(const Columns& columns, float* gradient, float* error, uint32_t* codes);
// That of a problem of this sort.
inline Columns columns_of(const OperationProblem& problem) {
  return {problem.in.n, problem.in.elements() / problem.in.n};
}

// In place, by the rule.
void update(const UpdateRule& rule, int64_t values, const float* gradient, float* velocity, float* weight);

}  // namespace convscope
