// Every call of the CUDA runtime goes through check(), every launch through launch() of cuda_syntax.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include "bench/device/kernel/call_site.hpp"

namespace convscope::cuda {

// `call` is the function's name, for the message. Throws std::bad_alloc where the device had no memory left,
// DeviceLost where the error ends this process's use of the device, DeviceError for every other one.
void check(cudaError_t code, const char* call, CallSite site = CallSite::current());

// The same for a launch of `kernel`, whose name goes into the message.
void check_launch(cudaError_t code, const void* kernel, CallSite site);

}  // namespace convscope::cuda
