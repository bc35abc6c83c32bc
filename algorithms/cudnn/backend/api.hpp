// cuDNN's C functions, loaded at run time, and what becomes of its status codes. The functions are those of
// the library's own headers, so a call with wrong types does not compile.
//
// NVIDIA's header library cudnn-frontend is not used: loaded dynamically it brings a second CUDA runtime into
// the program, and its graph interface filters engines by their numerical notes without telling them, which a
// variant is to name.
#pragma once

#include <cudnn.h>

#include <memory>
#include <string>

#include "bench/device/cuda/shared_library.hpp"

namespace convscope::cudnn {

// Each function by the name of its member in Api. Not here: cudnnGetVersion, which comes before them.
// clang-format off
#define CONVSCOPE_CUDNN_FUNCTIONS(X) \
  X(error_string, cudnnGetErrorString) \
  X(last_error_string, cudnnGetLastErrorString) \
  X(create, cudnnCreate) \
  X(destroy, cudnnDestroy) \
  X(set_stream, cudnnSetStream) \
  X(create_tensor, cudnnCreateTensorDescriptor) \
  X(destroy_tensor, cudnnDestroyTensorDescriptor) \
  X(set_tensor, cudnnSetTensor4dDescriptor) \
  X(transform_tensor, cudnnTransformTensor) \
  X(create_filter, cudnnCreateFilterDescriptor) \
  X(destroy_filter, cudnnDestroyFilterDescriptor) \
  X(set_filter, cudnnSetFilter4dDescriptor) \
  X(create_convolution, cudnnCreateConvolutionDescriptor) \
  X(destroy_convolution, cudnnDestroyConvolutionDescriptor) \
  X(set_convolution, cudnnSetConvolution2dDescriptor) \
  X(set_group_count, cudnnSetConvolutionGroupCount) \
  X(set_math_type, cudnnSetConvolutionMathType) \
  X(get_forward, cudnnGetConvolutionForwardAlgorithm_v7) \
  X(get_backward_data, cudnnGetConvolutionBackwardDataAlgorithm_v7) \
  X(get_backward_filter, cudnnGetConvolutionBackwardFilterAlgorithm_v7) \
  X(find_forward, cudnnFindConvolutionForwardAlgorithm) \
  X(find_backward_data, cudnnFindConvolutionBackwardDataAlgorithm) \
  X(find_backward_filter, cudnnFindConvolutionBackwardFilterAlgorithm) \
  X(workspace_forward, cudnnGetConvolutionForwardWorkspaceSize) \
  X(workspace_backward_data, cudnnGetConvolutionBackwardDataWorkspaceSize) \
  X(workspace_backward_filter, cudnnGetConvolutionBackwardFilterWorkspaceSize) \
  X(forward, cudnnConvolutionForward) \
  X(backward_data, cudnnConvolutionBackwardData) \
  X(backward_filter, cudnnConvolutionBackwardFilter) \
  X(add_tensor, cudnnAddTensor) \
  X(backward_bias, cudnnConvolutionBackwardBias) \
  X(create_activation, cudnnCreateActivationDescriptor) \
  X(destroy_activation, cudnnDestroyActivationDescriptor) \
  X(set_activation, cudnnSetActivationDescriptor) \
  X(activation_forward, cudnnActivationForward) \
  X(activation_backward, cudnnActivationBackward) \
  X(create_lrn, cudnnCreateLRNDescriptor) \
  X(destroy_lrn, cudnnDestroyLRNDescriptor) \
  X(set_lrn, cudnnSetLRNDescriptor) \
  X(lrn_forward, cudnnLRNCrossChannelForward) \
  X(lrn_backward, cudnnLRNCrossChannelBackward) \
  X(create_pooling, cudnnCreatePoolingDescriptor) \
  X(destroy_pooling, cudnnDestroyPoolingDescriptor) \
  X(set_pooling, cudnnSetPooling2dDescriptor) \
  X(pooling_forward, cudnnPoolingForward) \
  X(pooling_backward, cudnnPoolingBackward) \
  X(batch_norm_forward, cudnnBatchNormalizationForwardTraining) \
  X(batch_norm_backward, cudnnBatchNormalizationBackward) \
  X(create_descriptor, cudnnBackendCreateDescriptor) \
  X(destroy_descriptor, cudnnBackendDestroyDescriptor) \
  X(set_attribute, cudnnBackendSetAttribute) \
  X(get_attribute, cudnnBackendGetAttribute) \
  X(finalize, cudnnBackendFinalize) \
  X(execute, cudnnBackendExecute)
// clang-format on

struct Api {
  cuda::SharedLibrary library;
  std::string defect;  // why it cannot be used; empty where it can, and then no function is null

  decltype(&cudnnGetVersion) version = nullptr;
#define CONVSCOPE_MEMBER(member, function) decltype(&function) member = nullptr;
  CONVSCOPE_CUDNN_FUNCTIONS(CONVSCOPE_MEMBER)
#undef CONVSCOPE_MEMBER
};

// "9.19.0" of 91900 and "8.9.7" of 8907, cuDNN's number of a version.
std::string version_text(size_t version);

// Loaded on first use.
const Api& api();

// Throws for all but success: Refused where cuDNN says that it does not support this (library_missing where
// that is for want of something installed), std::bad_alloc where it had no memory, DeviceError otherwise.
// `call` is the function's name; the message has cuDNN's own words.
void check(cudnnStatus_t status, const char* call);

// cuDNN's context. One for all plans of the process, as long as any of them lives.
using Handle = std::shared_ptr<cudnnContext>;
Handle shared_handle();

}  // namespace convscope::cudnn
