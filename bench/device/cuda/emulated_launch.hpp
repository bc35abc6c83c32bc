// Launches on a queue of CudaDevice of kernels that g++ compiled for the emulator: how a build without nvcc
// runs the host code of CUDA, on the stand-in for its runtime (bench/standin). Programs that are linked
// without the stand-in have no such queue.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/device/kernel/call_site.hpp"

namespace convscope::cuda {

struct EmulatedLaunch {
  const void* kernel = nullptr;  // the function, by which a runtime knows a kernel
  CallSite site;
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  size_t smem_bytes = 0;
  std::vector<const void*> pointers;  // arguments that must be device memory or null
  // Computes the whole grid on the calling thread; returns what went wrong, or an empty string.
  std::function<std::string()> run;
};

// Enqueues it as launch() of cuda_syntax.hpp does. Throws DeviceError where that does, and where the program
// has no stand-in.
void launch_emulated(EmulatedLaunch work, Queue& queue);

}  // namespace convscope::cuda
