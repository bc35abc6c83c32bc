// What every launch of a kernel on a queue of CudaDevice needs first.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "bench/device/device.hpp"
#include "bench/device/kernel/call_site.hpp"

namespace convscope::cuda {

// The configuration of one launch; allows the kernel `smem_bytes` of dynamic shared memory. Throws
// DeviceError.
cudaLaunchConfig_t launch_config(const void* kernel, const LaunchGrid<dim3>& grid, dim3 block,
                                 size_t smem_bytes, Queue& queue);

}  // namespace convscope::cuda
