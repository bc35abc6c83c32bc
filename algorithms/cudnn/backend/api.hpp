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

struct Api {
  cuda::SharedLibrary library;
  std::string defect;  // why it cannot be used; empty where it can, and then no function is null

  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnGetLastErrorString) last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;

  decltype(&cudnnCreateTensorDescriptor) create_tensor = nullptr;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor = nullptr;
  decltype(&cudnnSetTensor4dDescriptor) set_tensor = nullptr;
  decltype(&cudnnTransformTensor) transform_tensor = nullptr;
  decltype(&cudnnCreateFilterDescriptor) create_filter = nullptr;
  decltype(&cudnnDestroyFilterDescriptor) destroy_filter = nullptr;
  decltype(&cudnnSetFilter4dDescriptor) set_filter = nullptr;
  decltype(&cudnnCreateConvolutionDescriptor) create_convolution = nullptr;
  decltype(&cudnnDestroyConvolutionDescriptor) destroy_convolution = nullptr;
  decltype(&cudnnSetConvolution2dDescriptor) set_convolution = nullptr;
  decltype(&cudnnSetConvolutionGroupCount) set_group_count = nullptr;
  decltype(&cudnnSetConvolutionMathType) set_math_type = nullptr;

  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) get_forward = nullptr;
  decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) get_backward_data = nullptr;
  decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) get_backward_filter = nullptr;
  decltype(&cudnnFindConvolutionForwardAlgorithm) find_forward = nullptr;
  decltype(&cudnnFindConvolutionBackwardDataAlgorithm) find_backward_data = nullptr;
  decltype(&cudnnFindConvolutionBackwardFilterAlgorithm) find_backward_filter = nullptr;
  decltype(&cudnnGetConvolutionForwardWorkspaceSize) workspace_forward = nullptr;
  decltype(&cudnnGetConvolutionBackwardDataWorkspaceSize) workspace_backward_data = nullptr;
  decltype(&cudnnGetConvolutionBackwardFilterWorkspaceSize) workspace_backward_filter = nullptr;
  decltype(&cudnnConvolutionForward) forward = nullptr;
  decltype(&cudnnConvolutionBackwardData) backward_data = nullptr;
  decltype(&cudnnConvolutionBackwardFilter) backward_filter = nullptr;

  decltype(&cudnnAddTensor) add_tensor = nullptr;
  decltype(&cudnnConvolutionBackwardBias) backward_bias = nullptr;
  decltype(&cudnnCreateActivationDescriptor) create_activation = nullptr;
  decltype(&cudnnDestroyActivationDescriptor) destroy_activation = nullptr;
  decltype(&cudnnSetActivationDescriptor) set_activation = nullptr;
  decltype(&cudnnActivationForward) activation_forward = nullptr;
  decltype(&cudnnActivationBackward) activation_backward = nullptr;
  decltype(&cudnnCreateLRNDescriptor) create_lrn = nullptr;
  decltype(&cudnnDestroyLRNDescriptor) destroy_lrn = nullptr;
  decltype(&cudnnSetLRNDescriptor) set_lrn = nullptr;
  decltype(&cudnnLRNCrossChannelForward) lrn_forward = nullptr;
  decltype(&cudnnLRNCrossChannelBackward) lrn_backward = nullptr;
  decltype(&cudnnCreatePoolingDescriptor) create_pooling = nullptr;
  decltype(&cudnnDestroyPoolingDescriptor) destroy_pooling = nullptr;
  decltype(&cudnnSetPooling2dDescriptor) set_pooling = nullptr;
  decltype(&cudnnPoolingForward) pooling_forward = nullptr;
  decltype(&cudnnPoolingBackward) pooling_backward = nullptr;
  decltype(&cudnnBatchNormalizationForwardTraining) batch_norm_forward = nullptr;
  decltype(&cudnnBatchNormalizationBackward) batch_norm_backward = nullptr;

  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
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
