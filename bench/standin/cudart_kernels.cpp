// Kernels of the runtime: what nvcc's host code registers, attributes, launches.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "bench/standin/devices.hpp"
#include "bench/standin/errors.hpp"
#include "bench/standin/execution.hpp"
#include "bench/standin/kernels.hpp"
#include "bench/standin/tensor_map.hpp"

using namespace convscope::standin;

namespace {

// Of kernel<<<grid, block, shared, stream>>>, between its two halves.
struct CallConfiguration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local CallConfiguration pushed;

cudaError_t launch_here(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                        cudaStream_t stream, const char* call) {
  return result(launch(function, grid, block, arguments, shared, stream, current_device()), call);
}

}  // namespace

// nvcc's host code declares these itself; no header of the toolkit does.
extern "C" {

void** __cudaRegisterFatBinary(void* binary) {
  static void* handle;
  register_binary(binary);
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  register_kernel(host, name);
}

void __cudaRegisterVar(void**, char*, char*, const char* name, int, size_t, int, int) {
  std::fprintf(stderr, "standin: the variable %s of the device is not supported\n", name);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch_here(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream,
                     "cudaLaunchKernel");
}

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

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  *function = known ? reinterpret_cast<void*>(&encode_tensor_map) : nullptr;
  return result(cudaSuccess, __func__);
}

}  // extern "C"
