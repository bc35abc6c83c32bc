#include "bench/device/cuda/launch.hpp"

#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/cuda_queue.hpp"

namespace convscope::cuda {

cudaLaunchConfig_t launch_config(const void* kernel, const LaunchGrid<dim3>& grid, dim3 block,
                                 size_t smem_bytes, Queue& queue) {
  cudaLaunchConfig_t config{};
  config.stream = cuda_queue(queue).stream_for_kernel(kernel);
  // More than this a kernel must be allowed, once; asking again costs the host under a microsecond.
  constexpr size_t kAlwaysAllowed = 48 << 10;
  if (smem_bytes > kAlwaysAllowed)
    check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(smem_bytes)),
                 kernel, grid.site);
  config.gridDim = grid.blocks;
  config.blockDim = block;
  config.dynamicSmemBytes = smem_bytes;
  return config;
}

}  // namespace convscope::cuda
