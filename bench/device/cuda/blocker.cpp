#include "bench/device/cuda/blocker.hpp"

#include <utility>

namespace convscope::cuda {

Watchdog::Watchdog(std::chrono::nanoseconds limit, std::function<void()> bark)
    : limit_(limit), bark_(std::move(bark)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    deadline_.reset();
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::start() {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    deadline_ = Clock::now() + limit_;
    wakes = is_idle_;
  }
  if (wakes) changed_.notify_one();
}

void Watchdog::stop() {
  const std::lock_guard lock(mutex_);
  deadline_.reset();
}

// A stop wakes nobody: the thread finds at the deadline that nothing runs, or something with a later one.
void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (!deadline_) {
      is_idle_ = true;
      changed_.wait(lock, [this] { return deadline_ || ends_; });
      is_idle_ = false;
    } else if (const Clock::time_point until = *deadline_; Clock::now() < until) {
      changed_.wait_until(lock, until, [this] { return ends_; });
    } else {
      deadline_.reset();
      bark_();
    }
  }
}

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
