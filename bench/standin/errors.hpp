// The runtime's errors: the thread's last one, and the one that stays.
#pragma once

#include <cuda_runtime_api.h>

namespace convscope::standin {

// What a call returns: the error that stays where there is one, otherwise one scripted for `function`,
// otherwise `error`. Remembered as the thread's last error.
cudaError_t result(cudaError_t error, const char* function);

// From here on every call returns it: the device is lost to this process.
void lose_device(cudaError_t error);
bool is_lost();

}  // namespace convscope::standin
