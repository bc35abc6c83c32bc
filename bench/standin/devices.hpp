// The devices of the runtime, and the errors that its calls return: the thread's last one, and the
// sticky one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace convscope::standin {

// The largest shared memory of a block: of a kernel that was allowed it, and of every kernel.
inline constexpr size_t kSharedPerBlock = size_t{227} << 10;
inline constexpr size_t kSharedAlways = size_t{48} << 10;

// The device that the calling thread uses.
int current_device();

// The return value of a call: the sticky error where there is one, otherwise `error`, and where that is
// success, one scripted for `function`. Remembered as the thread's last error.
cudaError_t result(cudaError_t error, const char* function);

// Sets the sticky error: from here on every call returns it, and the device is lost to this process.
void lose_device(cudaError_t error);
bool is_lost();

}  // namespace convscope::standin
