#include "bench/device/cuda/blocker.hpp"

namespace convscope::cuda {
namespace {

constexpr unsigned long long kLimitNanoseconds = 30'000'000'000;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(volatile const int* released, volatile int* timed_out) {
  const unsigned long long begin = nanoseconds();
  while (*released == 0) {
    if (nanoseconds() - begin < kLimitNanoseconds) continue;
    *timed_out = 1;
    __threadfence_system();
    return;
  }
}

}  // namespace

Blocker::Blocker() : memory_(make_pinned_memory(sizeof(Flags))) {
  // The first launch of a kernel loads it, which would wait for a stream that is held.
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, spin), "cudaFuncGetAttributes");
}

void Blocker::hold(cudaStream_t stream) {
  flags().released = 0;
  flags().timed_out = 0;
  void* device_view = nullptr;
  check(cudaHostGetDevicePointer(&device_view, memory_.get(), 0), "cudaHostGetDevicePointer");
  auto* on_device = static_cast<Flags*>(device_view);
  spin<<<1, 1, 0, stream>>>(&on_device->released, &on_device->timed_out);
  check_launch(cudaGetLastError(), reinterpret_cast<const void*>(spin), CallSite::current());
  holding_ = true;
}

void Blocker::release() {
  flags().released = 1;
  holding_ = false;
}

bool Blocker::timed_out() const {
  return flags().timed_out != 0;
}

}  // namespace convscope::cuda
