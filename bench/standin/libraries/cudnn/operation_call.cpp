#include "bench/standin/libraries/cudnn/operation_call.hpp"

#include <utility>

#include "bench/standin/libraries/runtime.hpp"

namespace convscope::standin {
namespace {

// Why the call cannot be done.
cudnnStatus_t check(const Call& call) {
  if (const Fault fault = enter_cudnn(call.function)) return failed(fault);
  const bool has_null = std::ranges::count(call.pointers, nullptr) > 0;
  if (call.handle == nullptr || has_null) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, call.function);
  for (const cudnnTensorStruct* tensor : call.tensors) {
    if (!is_set(tensor)) return failed(CUDNN_STATUS_BAD_PARAM, "a tensor that was never set");
    if (tensor->format != CUDNN_TENSOR_NCHW || tensor->view.type != CUDNN_DATA_FLOAT)
      return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in only knows f32 in nchw");
  }
  if (!call.is_described) return failed(CUDNN_STATUS_BAD_PARAM, "a descriptor that was never set");
  if (!call.fits) return failed(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, call.function);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t run(const Call& call, std::function<void(Scales)> work) {
  if (const cudnnStatus_t status = check(call); status != CUDNN_STATUS_SUCCESS) return status;
  load_kernels(call.function);
  const auto scale = [&](size_t i) { return double{*static_cast<const float*>(call.pointers.begin()[i])}; };
  const Scales scales{scale(0), scale(1)};
  const cudaError_t code = enqueue(call.handle->stream, [=] { work(scales); });
  if (code == cudaSuccess) return CUDNN_STATUS_SUCCESS;
  return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDART, call.function);
}

}  // namespace convscope::standin
