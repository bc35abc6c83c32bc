#include "bench/device/cuda/blocker.hpp"

#include "bench/device/cuda/blocker_kernel.hpp"

namespace convscope::cuda {

Blocker::Blocker()
    : memory_(make_pinned_memory(sizeof(Flags))), watchdog_(kHoldLimit, [this] {
        overran_ = true;
        let_go();
      }) {
  // The first launch of a kernel loads it, which would wait for a stream that is held.
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, blocker_kernel()), "cudaFuncGetAttributes");
}

void Blocker::hold(cudaStream_t stream) {
  flags() = {0, 0};
  overran_ = false;
  void* device_view = nullptr;
  check(cudaHostGetDevicePointer(&device_view, memory_.get(), 0), "cudaHostGetDevicePointer");
  auto* on_device = static_cast<Flags*>(device_view);
  enqueue_blocker_kernel(stream, &on_device->released, &on_device->timed_out, kKernelLimit);
  check_launch(cudaGetLastError(), blocker_kernel(), CallSite::current());
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
