#include "bench/device/cuda/emulated_launch.hpp"

#include <utility>

#include "bench/device/cuda/check.hpp"
#include "bench/standin/kernels.hpp"

namespace convscope::cuda {

void launch_emulated(EmulatedLaunch work, Queue& queue) {
  standin::register_host_kernel(work.kernel, work.site.text());
  const auto extent = [](const std::array<unsigned, 3>& sizes) { return dim3(sizes[0], sizes[1], sizes[2]); };
  const LaunchGrid<dim3> grid(extent(work.grid), work.site);
  const cudaLaunchConfig_t config =
      launch_config(work.kernel, grid, extent(work.block), work.smem_bytes, queue);
  standin::HostLaunch launch{.pointers = std::move(work.pointers), .run = std::move(work.run)};
  void* arguments[] = {&launch};
  check_launch(cudaLaunchKernelExC(&config, work.kernel, arguments), work.kernel, work.site);
}

}  // namespace convscope::cuda
