// launch() and dynamic_smem() for nvcc; the emulator's are in bench/emulator/cuda_syntax.hpp. Reached
// through bench/device/kernel/kernel.hpp.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "bench/device/cuda/check.hpp"
#include "bench/device/device.hpp"
#include "bench/device/kernel/call_site.hpp"

namespace convscope::cuda {

// The block's dynamic shared memory, aligned as TMA with 128-byte swizzle wants it.
template <typename T>
__device__ __forceinline__ T* dynamic_smem() {
  extern __shared__ __align__(1024) unsigned char convscope_dynamic_smem[];
  return reinterpret_cast<T*>(convscope_dynamic_smem);
}

// Enqueues kernel<<<grid, block, smem_bytes>>>(arguments...) on a queue of CudaDevice. Throws DeviceError
// with the kernel's name, the caller's file and line and the runtime's words when the launch is refused; what
// goes wrong in the kernel shows when the queue is waited for.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), std::type_identity_t<LaunchGrid<dim3>> grid, dim3 block,
            size_t smem_bytes, Queue& queue, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  const auto* pointer = reinterpret_cast<const void*>(kernel);
  const cudaLaunchConfig_t config = launch_config(pointer, grid, block, smem_bytes, queue);
  check_launch(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), pointer,
               grid.site);
}

}  // namespace convscope::cuda
