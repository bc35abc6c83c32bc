#include "bench/device/cuda/globaltimer.cuh"
#include "bench/device/cuda/memory_load_kernel.hpp"

namespace convscope::cuda {
namespace {

// Waits until it is time for another chunk; false where there is none any more.
__device__ bool is_time_for_next(const LoadPlan& plan, volatile LoadFlags& said, uint64_t begin,
                                 uint64_t chunks) {
  while (said.over == 0) {
    const uint64_t elapsed = nanoseconds() - begin;
    if (elapsed > plan.limit_nanoseconds) {
      said.timed_out = 1;
      return false;
    }
    if (elapsed >= chunks * plan.chunk_nanoseconds) return true;
  }
  return false;
}

__global__ void __launch_bounds__(kLoadThreads) copy_at_rate(LoadPlan plan, LoadFlags* flags) {
  __shared__ bool goes_on;
  volatile LoadFlags& said = *flags;
  const auto* const from = reinterpret_cast<const float4*>(plan.from) + threadIdx.x;
  auto* const to = reinterpret_cast<float4*>(plan.to) + threadIdx.x;
  const bool is_first = threadIdx.x == 0;
  if (is_first) said.copies = 1;
  const uint64_t begin = nanoseconds();
  uint64_t chunks = 0;
  for (int64_t place = 0;; place = place + kLoadChunk < plan.values ? place + kLoadChunk : 0) {
    if (is_first) goes_on = is_time_for_next(plan, said, begin, chunks);
    __syncthreads();
    if (!goes_on) break;
    float4 values[kLoadEach];
#pragma unroll
    for (int i = 0; i < kLoadEach; ++i) values[i] = from[place + i * kLoadThreads];
#pragma unroll
    for (int i = 0; i < kLoadEach; ++i) to[place + i * kLoadThreads] = values[i];
    ++chunks;
    __syncthreads();
  }
  if (!is_first) return;
  said.chunks = chunks;
  __threadfence_system();
}

}  // namespace

const void* load_kernel() {
  return reinterpret_cast<const void*>(copy_at_rate);
}

void enqueue_load_kernel(cudaStream_t stream, int64_t shared_bytes, const LoadPlan& plan, LoadFlags* flags) {
  copy_at_rate<<<1, kLoadThreads, static_cast<size_t>(shared_bytes), stream>>>(plan, flags);
}

}  // namespace convscope::cuda
