// Kernels of the runtime: attributes and launches.
#include <cuda_runtime_api.h>

#include <cstring>

#include "bench/standin/devices.hpp"
#include "bench/standin/errors.hpp"
#include "bench/standin/execution.hpp"
#include "bench/standin/kernels.hpp"

using namespace convscope::standin;

namespace {

cudaError_t launch_here(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                        cudaStream_t stream, const char* call) {
  return result(launch(function, grid, block, arguments, shared, stream, current_device()), call);
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch_here(function, grid, block, arguments, shared, stream, __func__);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return launch_here(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                     config->stream, __func__);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  std::memset(attributes, 0, sizeof *attributes);
  if (kernel_name(function) == nullptr) return result(cudaErrorInvalidDeviceFunction, __func__);
  load(function, current_device());
  return result(cudaSuccess, __func__);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (kernel_name(function) == nullptr) return result(cudaErrorInvalidDeviceFunction, __func__);
  load(function, current_device());
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return result(cudaSuccess, __func__);
  if (value < 0 || static_cast<size_t>(value) > kSharedPerBlock)
    return result(cudaErrorInvalidValue, __func__);
  allow_shared(function, static_cast<size_t>(value));
  return result(cudaSuccess, __func__);
}

// Answers where the device is lost, too.
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const std::string* found = kernel_name(function);
  if (found == nullptr) return cudaErrorInvalidDeviceFunction;
  *name = found->c_str();
  return cudaSuccess;
}

}  // extern "C"
