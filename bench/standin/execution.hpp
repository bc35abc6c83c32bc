// Launches: checked as the hardware would, loaded as lazy loading does, run on the stream's thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace convscope::standin {

inline constexpr size_t kSharedPerBlock = size_t{227} << 10;  // at most, for a kernel that was allowed it
inline constexpr size_t kSharedAlways = size_t{48} << 10;

// Loads the kernel if it is not; waits for an idle device then.
void load(const void* function, int device);
void allow_shared(const void* function, size_t bytes);

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream, int device);

}  // namespace convscope::standin
