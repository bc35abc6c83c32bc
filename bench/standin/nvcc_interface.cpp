// The functions that nvcc's host code of a .cu file calls: to register kernels, and to launch them in two
// steps.
#include <cuda_runtime_api.h>

#include <cstdio>

#include "bench/standin/kernels.hpp"

using namespace convscope::standin;

namespace {

// The arguments of kernel<<<grid, block, shared, stream>>> between the two steps of a launch.
struct CallConfiguration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local CallConfiguration pushed;

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
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream);
}

}  // extern "C"
