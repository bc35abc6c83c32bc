#include "bench/device/cuda/blocker.hpp"

namespace convscope::cuda {
namespace {

constexpr unsigned long long kLimitNanoseconds = std::chrono::nanoseconds(Blocker::kKernelLimit).count();

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

Blocker::Blocker()
    : memory_(make_pinned_memory(sizeof(Flags))), watchdog_(kHoldLimit, [this] {
        overran_ = true;
        let_go();
      }) {
  // The first launch of a kernel loads it, which would wait for a stream that is held.
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, spin), "cudaFuncGetAttributes");
}

void Blocker::hold(cudaStream_t stream) {
  flags() = {0, 0};
  overran_ = false;
  void* device_view = nullptr;
  check(cudaHostGetDevicePointer(&device_view, memory_.get(), 0), "cudaHostGetDevicePointer");
  auto* on_device = static_cast<Flags*>(device_view);
  spin<<<1, 1, 0, stream>>>(&on_device->released, &on_device->timed_out);
  check_launch(cudaGetLastError(), reinterpret_cast<const void*>(spin), CallSite::current());
  holding_ = true;
  watchdog_.start();
}

void Blocker::release() {
  let_go();
  watchdog_.stop();
  holding_ = false;
}

bool Blocker::held_until_released() const {
  return !overran_ && std::atomic_ref(flags().timed_out).load(std::memory_order_acquire) == 0;
}

}  // namespace convscope::cuda
