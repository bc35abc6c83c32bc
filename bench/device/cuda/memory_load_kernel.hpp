// The kernel, of one block, that copies memory at a stated rate until the host says so (memory_load.cpp).
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>

namespace convscope::cuda {

// What the kernel and the host tell each other, in memory that both see.
struct LoadFlags {
  int over;               // set by the host
  int copies, timed_out;  // set by the kernel, as is how much it copied
  uint64_t chunks;
};

// What a thread copies at a time.
struct alignas(16) LoadValue {
  float of[4];
};

struct LoadPlan {
  LoadValue* to;
  const LoadValue* from;
  int64_t values;              // of either buffer: whole chunks
  uint64_t chunk_nanoseconds;  // from the beginning of a chunk to that of the next
  uint64_t limit_nanoseconds;  // after it the kernel ends by itself
};

// Copied between two looks at the clock: so many values.
inline constexpr int kLoadThreads = 512, kLoadEach = 8;
inline constexpr int64_t kLoadChunk = int64_t{kLoadThreads} * kLoadEach;

// By it the runtime knows the kernel, as for cudaFuncGetAttributes().
const void* load_kernel();

// With `shared_bytes` besides those that the kernel declares. What goes wrong is the runtime's last error.
void enqueue_load_kernel(cudaStream_t stream, int64_t shared_bytes, const LoadPlan& plan, LoadFlags* flags);

}  // namespace convscope::cuda
