// The kernel of Blocker.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>

namespace convscope::cuda {

// By it the runtime knows the kernel, as for cudaFuncGetAttributes().
const void* blocker_kernel();

// Spins until the host writes another value than 0 to *released. After `limit` it ends by itself and writes 1
// to *timed_out. What goes wrong is the runtime's last error.
void enqueue_blocker_kernel(cudaStream_t stream, int* released, int* timed_out,
                            std::chrono::nanoseconds limit);

}  // namespace convscope::cuda
