#include "bench/device/cuda/watchdog.hpp"

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

}  // namespace convscope::cuda
