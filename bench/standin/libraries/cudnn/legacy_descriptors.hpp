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

struct cudnnFilterStruct : cudnnTensorStruct {};

struct cudnnConvolutionStruct {
  bool is_set = false;
  convscope::Extent2 pad{0, 0}, stride{1, 1}, dilation{1, 1};
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};

struct cudnnActivationStruct {
  bool is_set = false;
};

struct cudnnLRNStruct {
  bool is_set = false;
  int64_t reach = 0;  // channels on each side
  double alpha = 0, beta = 0, bias = 0;
};

struct cudnnPoolingStruct {
  bool is_set = false;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  convscope::Extent2 window{1, 1}, stride{1, 1}, pad{0, 0};
};

namespace convscope::standin {

template <typename Descriptor>
bool is_set(const Descriptor* descriptor) {
  return descriptor != nullptr && descriptor->is_set;
}

template <typename T>
cudnnStatus_t create(const char* function, T** made) {
  if (const Fault fault = enter_cudnn(function)) return failed(fault);
  if (made == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
  *made = new T;
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
cudnnStatus_t destroy(const char* function, T* owned) {
  if (const Fault fault = enter_cudnn(function)) return failed(fault);
  if (owned == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
  delete owned;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace convscope::standin

// cudnnCreateXDescriptor and cudnnDestroyXDescriptor, of C linkage.
#define CONVSCOPE_DESCRIPTOR(X)                                                        \
  extern "C" cudnnStatus_t cudnnCreate##X##Descriptor(cudnn##X##Descriptor_t* made) {  \
    return convscope::standin::create("cudnnCreate" #X "Descriptor", made);            \
  }                                                                                    \
  extern "C" cudnnStatus_t cudnnDestroy##X##Descriptor(cudnn##X##Descriptor_t owned) { \
    return convscope::standin::destroy("cudnnDestroy" #X "Descriptor", owned);         \
  }
