// The spinning kernel that holds a stream back while the host enqueues what is to be timed. It ends when the
// host says so. A host that waits for work behind it never would: then a watchdog of the host ends it after
// kHoldLimit, and should the host itself stand still, the kernel does after kKernelLimit.
#pragma once

#include <atomic>
#include <chrono>

#include "bench/device/cuda/handles.hpp"
#include "bench/device/cuda/watchdog.hpp"

namespace convscope::cuda {

class Blocker {
 public:
  // Enqueueing the most work that is ever held back takes a few milliseconds.
  static constexpr std::chrono::milliseconds kHoldLimit{200};
  // Less than any limit under which a worker may be silent.
  static constexpr std::chrono::seconds kKernelLimit{2};

  Blocker();
  ~Blocker() { release(); }

  // Enqueues the kernel: work enqueued behind it waits. The stream must be idle.
  void hold(cudaStream_t stream);
  // Lets the work go; allowed when nothing is held.
  void release();
  bool is_holding() const { return holding_; }
  // Whether the last hold went on until release(). Ask once the stream is done.
  bool held_until_released() const;

 private:
  struct Flags {
    int released;
    int timed_out;
  };
  Flags& flags() const { return *static_cast<Flags*>(memory_.get()); }
  void let_go() { std::atomic_ref(flags().released).store(1, std::memory_order_release); }

  PinnedMemory memory_;
  bool holding_ = false;
  std::atomic<bool> overran_ = false;
  Watchdog watchdog_;
};

}  // namespace convscope::cuda
