// MemoryLoad: threads that copy memory at a stated rate beside what is measured, as communication does beside
// the backward pass of a data-parallel step. Each has a core of its own, behind those of the OpenMP threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/core/device_info.hpp"

namespace convscope {

struct LoadRate {
  double bytes_per_second = 0;  // read and written, of all threads together
  int threads = 1;
};

class MemoryLoad {
 public:
  // Idle at first. Throws UsageError where the process may not use as many cores as `compute_threads` and the
  // load's together, std::bad_alloc. Copies between buffers that no cache of `device` holds.
  MemoryLoad(const LoadRate& rate, int compute_threads, const DeviceInfo& device);
  ~MemoryLoad();
  MemoryLoad(const MemoryLoad&) = delete;
  MemoryLoad& operator=(const MemoryLoad&) = delete;

  // Returns when every thread copies; when none does.
  void start();
  void stop();

  // Bytes a second while it was on, so far; 0 before it ever was. What the memory gave, which may be less
  // than was asked for.
  double measured_rate() const;

 private:
  void run(int thread);

  LoadRate rate_;
  int compute_threads_;
  int64_t values_;  // of a thread's buffer
  std::atomic<bool> is_on_{false}, is_over_{false};
  std::atomic<int> copying_{0};
  std::atomic<int64_t> bytes_{0};
  double seconds_ = 0;  // on, so far
  double begin_ = 0;    // of being on, in seconds of the clock
  std::vector<std::thread> threads_;
};

}  // namespace convscope
