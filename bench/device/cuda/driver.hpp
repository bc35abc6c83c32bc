// Why there is no CUDA device: no driver, one that is too old, none that shows a device.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace convscope::cuda {

struct DriverState {
  cudaError_t code = cudaSuccess;  // of asking for the number of devices
  int devices = 0;                 // 0 where that failed
  int driver_version = 0;          // the newest CUDA that it supports, as 13000; 0 without libcuda.so.1
  std::string release;             // of the kernel's module, as "580.65.06"; empty where none is loaded
  // Why libcuda.so.1 is of no use where it tells no version: it is not there, or lacks something itself.
  std::string library = {};
};

DriverState look_for_driver();

// A sentence for the user with the runtime's words in it; empty where there is a device.
std::string driver_defect(const DriverState& state);

}  // namespace convscope::cuda
