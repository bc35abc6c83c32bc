// The CPU as a device. Threads are OpenMP's, pinned one to a core; algorithms just write `#pragma omp
// parallel`.
#pragma once

#include <memory>

#include "bench/device/device.hpp"

namespace convscope {

class CpuDevice final : public Device {
 public:
  CpuDevice();

  // Uses `threads` OpenMP threads from now on, each pinned to a core of its own; throws UsageError when the
  // process may not use that many cores. oneDNN and OpenBLAS (their OpenMP builds) follow the same setting.
  void set_threads(int threads);

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Queue> make_queue() override;
  void* allocate(size_t bytes) override;
  void release(void* data) noexcept override;
  void copy_to_device(void* to, const void* from, size_t bytes) override;
  void copy_to_host(void* to, const void* from, size_t bytes) override;

 private:
  DeviceInfo info_;
};

// Puts the calling thread on the n-th of the cores that this process may use, counted from 0 and around.
// set_threads() has the first ones.
void pin_this_thread(int core);

// Reads the machine's description from /proc and /sys without starting any thread.
DeviceInfo describe_cpu();

}  // namespace convscope
