// Which of CUDA's errors end this process's use of the device.
#pragma once

#include <cuda_runtime_api.h>

namespace convscope::cuda {

// Those of which driver_types.h (CUDA 13.0) says that the process must be terminated, and that every further
// call returns them again; and those that leave no usable context: uncorrectable memory and NVLink errors, a
// context destroyed, a lost MPS server, an unknown error.
bool ends_the_context(cudaError_t code);

}  // namespace convscope::cuda
