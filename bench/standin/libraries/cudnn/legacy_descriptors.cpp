// Handles and descriptors of the legacy API.
#include "bench/standin/libraries/cudnn/legacy_descriptors.hpp"

#include <fmt/format.h>

#include <array>

#include "bench/standin/libraries/runtime.hpp"

namespace convscope::standin {
namespace {

bool is_storage(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

// Dense, in the order of the format.
TensorShape dense(cudnnTensorFormat_t format, const std::array<int, 4>& size) {
  TensorShape shape;
  for (size_t i = 0; i < size.size(); ++i) shape.size[i] = size[i];
  const auto [n, c, h, w] = shape.size;
  shape.stride = format == CUDNN_TENSOR_NHWC ? std::array<int64_t, 4>{h * w * c, 1, w * c, c}
                                             : std::array<int64_t, 4>{c * h * w, h * w, w, 1};
  return shape;
}

// Sets a tensor or a filter, which differ in name only.
cudnnStatus_t set_dense(const char* function, cudnnTensorStruct* descriptor, cudnnTensorFormat_t format,
                        cudnnDataType_t type, const std::array<int, 4>& size) {
  if (const Fault fault = enter_cudnn(function)) return failed(fault);
  if (descriptor == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)
    return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("format {}", static_cast<int>(format)));
  if (!is_storage(type))
    return failed(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, fmt::format("data type {}", static_cast<int>(type)));
  for (const int one : size)
    if (one <= 0) return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("a size of {}", one));
  descriptor->is_set = true;
  descriptor->format = format;
  descriptor->view = {type, dense(format, size)};
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (const Fault fault = enter_cudnn("cudnnCreate")) return failed(fault);
  if (handle == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate");
  if (device_error() != cudaSuccess)
    return failed(CUDNN_STATUS_NOT_INITIALIZED, "the runtime of this program has no device");
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return destroy("cudnnDestroy", handle);
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (const Fault fault = enter_cudnn("cudnnSetStream")) return failed(fault);
  if (handle == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnSetStream");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr || stream == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetStream");
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  return set_dense("cudnnSetTensor4dDescriptor", descriptor, format, type, {n, c, h, w});
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return set_dense("cudnnSetFilter4dDescriptor", descriptor, format, type, {k, c, h, w});
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w,
                                              int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute_type) {
  if (const Fault fault = enter_cudnn("cudnnSetConvolution2dDescriptor")) return failed(fault);
  if (descriptor == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnSetConvolution2dDescriptor");
  if (pad_h < 0 || pad_w < 0 || u <= 0 || v <= 0 || dilation_h <= 0 || dilation_w <= 0)
    return failed(CUDNN_STATUS_BAD_PARAM, "a padding below 0, or a stride or dilation below 1");
  if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION)
    return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("mode {}", static_cast<int>(mode)));
  descriptor->is_set = true;
  descriptor->pad = {pad_h, pad_w};
  descriptor->stride = {u, v};
  descriptor->dilation = {dilation_h, dilation_w};
  descriptor->mode = mode;
  descriptor->compute_type = compute_type;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  if (const Fault fault = enter_cudnn("cudnnSetConvolutionGroupCount")) return failed(fault);
  if (descriptor == nullptr || groups < 1) return failed(CUDNN_STATUS_BAD_PARAM, "the number of groups");
  descriptor->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  if (const Fault fault = enter_cudnn("cudnnSetConvolutionMathType")) return failed(fault);
  if (descriptor == nullptr || math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH)
    return failed(CUDNN_STATUS_BAD_PARAM, "the math type");
  descriptor->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void* alpha,
                                   const cudnnTensorDescriptor_t from, const void* data, const void* beta,
                                   const cudnnTensorDescriptor_t to, void* result) {
  if (const Fault fault = enter_cudnn("cudnnTransformTensor")) return failed(fault);
  if (handle == nullptr || alpha == nullptr || beta == nullptr || data == nullptr || result == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnTransformTensor");
  if (!is_set(from) || !is_set(to)) return failed(CUDNN_STATUS_BAD_PARAM, "a tensor that was never set");
  if (from->view.shape.size != to->view.shape.size)
    return failed(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "cudnnTransformTensor");
  static const char kernels = 0;
  load_kernels(&kernels);
  const double factor = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
  const cudaError_t code = enqueue(handle->stream, [=, source = from->view, target = to->view] {
    copy_elements(source, data, target, result, factor, kept);
  });
  if (code == cudaSuccess) return CUDNN_STATUS_SUCCESS;
  return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "cudnnTransformTensor");
}

}  // extern "C"

CONVSCOPE_DESCRIPTOR(Tensor)
CONVSCOPE_DESCRIPTOR(Filter)
CONVSCOPE_DESCRIPTOR(Convolution)
