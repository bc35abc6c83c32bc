// One convolution as the stand-in of cuDNN computes it: by the definition, sums in f64.
#pragma once

#include "bench/core/problem.hpp"
#include "bench/standin/libraries/cudnn/status.hpp"

namespace convscope::standin {

// Elements of a tensor: a type, and sizes and strides in logical order.
struct TensorView {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  TensorShape shape{};
};

// Input, filter and output of one convolution; the pass, paddings, strides, dilations and groups are in
// `problem`, whose layout and math mode do not affect the arithmetic.
struct Convolution {
  ConvProblem problem;
  TensorView input, filter, output;
};

// The sizes of a problem with this input and this filter, and one channel group.
ConvProblem problem_of_shapes(const TensorShape& input, const TensorShape& filter);

// Why these tensors are none of the convolution, or CUDNN_STATUS_SUCCESS: failed() has the words.
cudnnStatus_t check_shapes(const Convolution&);

// The tensor that the pass writes is alpha * result + beta * what was in it; with beta 0 that is not read.
// The problem's epilogue comes after that, with the bias of each output channel where it has one. All
// pointers are device memory, which is the host's here.
void compute(const Convolution&, void* input, void* filter, void* output, double alpha, double beta,
             const float* bias = nullptr);

// to = alpha * from + beta * to, element by element; the shapes' sizes are the same.
void copy_elements(const TensorView& from, const void* data, const TensorView& to, void* result, double alpha,
                   double beta);

}  // namespace convscope::standin
