// What stands behind cuDNN's opaque pointers of the legacy API: each holds what was set, and nothing more.
#pragma once

#include "bench/standin/libraries/cudnn/convolution.hpp"

// cuDNN's headers declare these names.
struct cudnnContext {
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  bool is_set = false;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  convscope::standin::TensorView view{};
};

struct cudnnFilterStruct {
  bool is_set = false;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  convscope::standin::TensorView view{};
};

struct cudnnConvolutionStruct {
  bool is_set = false;
  convscope::Extent2 pad{0, 0}, stride{1, 1}, dilation{1, 1};
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};
