// The spinning kernel that holds a stream back while the host enqueues what is to be timed. It ends when the
// host says so. A host that waits for work behind it never would: then a watchdog of the host ends it after
// kHoldLimit, and should the host itself stand still, the kernel does after kKernelLimit.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "bench/core/stopwatch.hpp"
#include "bench/device/cuda/handles.hpp"

namespace convscope::cuda {

// Calls a function when something that was started is not stopped in time. One thread, which sleeps until a
// deadline; starting and stopping costs the caller less than a microsecond while it is busy with earlier
// ones.
class Watchdog {
 public:
  // `bark` is called on another thread, at most once a start, `limit` after it.
  Watchdog(std::chrono::nanoseconds limit, std::function<void()> bark);
  ~Watchdog();

  // Starts the limit anew.
  void start();
  // Once it has returned, `bark` is neither running nor called before the next start. Allowed at any time.
  void stop();

 private:
  void watch();

  const std::chrono::nanoseconds limit_;
  const std::function<void()> bark_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::optional<Clock::time_point> deadline_;  // of what is running
  bool is_idle_ = false;                       // the thread waits for a start, not for a deadline
  bool ends_ = false;
  std::thread thread_;
};

// By it the runtime knows the kernel, as for cudaFuncGetAttributes().
const void* blocker_kernel();

// Spins until the host writes another value than 0 to *released. After `limit` it ends by itself and writes 1
// to *timed_out. What goes wrong is the runtime's last error.
void enqueue_blocker_kernel(cudaStream_t stream, int* released, int* timed_out,
                            std::chrono::nanoseconds limit);

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
