// Every call of the CUDA runtime goes through check(), every launch through launch() of cuda_syntax.hpp,
// whose configuration launch_config() makes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "bench/device/device.hpp"
#include "bench/device/kernel/call_site.hpp"

namespace convscope::cuda {

// `call` is the function's name, for the message. Throws std::bad_alloc where the device had no memory left,
// DeviceLost where the error ends this process's use of the device, DeviceError for every other one.
void check(cudaError_t code, const char* call, CallSite site = CallSite::current());

// The same for a launch of `kernel`, whose name goes into the message.
void check_launch(cudaError_t code, const void* kernel, CallSite site);

// Those of which driver_types.h (CUDA 13.0) says that the process must be terminated, and that every further
// call returns them again; and those that leave no usable context: uncorrectable memory and NVLink errors, a
// context destroyed, a lost MPS server, an unknown error.
bool ends_the_context(cudaError_t code);

// The configuration of one launch; allows the kernel `smem_bytes` of dynamic shared memory. Throws
// DeviceError.
cudaLaunchConfig_t launch_config(const void* kernel, const LaunchGrid<dim3>& grid, dim3 block,
                                 size_t smem_bytes, Queue& queue);

}  // namespace convscope::cuda
