// The devices of the runtime, and the errors that its calls return: the thread's last one, and the one that
// stays.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace convscope::standin {

// The largest shared memory of a block: of a kernel that was allowed it, and of every kernel.
inline constexpr size_t kSharedPerBlock = size_t{227} << 10;
inline constexpr size_t kSharedAlways = size_t{48} << 10;

// The device that the calling thread uses.
int current_device();

// What a call returns: the error that stays where there is one, otherwise one scripted for `function`,
// otherwise `error`. Remembered as the thread's last error.
cudaError_t result(cudaError_t error, const char* function);

// From here on every call returns it: the device is lost to this process.
void lose_device(cudaError_t error);
bool is_lost();

}  // namespace convscope::standin
