#include "bench/parallel/fabric/communication_queue.hpp"

#include <utility>

namespace convscope {

CommunicationQueue::CommunicationQueue(std::function<void()> before)
    : thread_([this, before = std::move(before)] { run(before); }) {}

CommunicationQueue::~CommunicationQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CommunicationQueue::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) posted_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void CommunicationQueue::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return posted_.empty(); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void CommunicationQueue::run(const std::function<void()>& before) {
  if (before) before();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || !posted_.empty(); });
    if (posted_.empty()) return;
    const std::function<void()>& work = posted_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    posted_.pop_front();
    if (failure) {
      failure_ = failure;
      posted_.clear();
    }
    changed_.notify_all();
  }
}

}  // namespace convscope
