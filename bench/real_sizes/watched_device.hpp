// A GPU of the size of an H200 whose queue tells a watch of its launches, on memory of the test's choice.
#pragma once

#include <cstring>
#include <memory>

#include "bench/device/device.hpp"
#include "bench/emulator/emulator_queue.hpp"

namespace convscope::real_sizes {

class WatchedDevice final : public Device {
 public:
  // Both must outlive it.
  WatchedDevice(emulated::DeviceMemory& memory, emulated::LaunchWatch& watch)
      : memory_(memory), watch_(watch) {
    info_.kind = DeviceKind::emulator;
    info_.name = "launches, watched";
    info_.llc_bytes = int64_t{60} << 20;
    info_.cores = 132;
    info_.memory_bytes = int64_t{141} << 30;
  }

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<emulated::EmulatorQueue>(memory_, EmulatorOptions{}, &watch_);
  }
  void* allocate(size_t bytes) override {
    ++allocations_;
    return memory_.allocate(bytes);
  }
  void release(void* data) noexcept override { memory_.release(data); }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    ++copies_;
    std::memcpy(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    ++copies_;
    std::memcpy(to, from, bytes);
  }

  int64_t allocations() const { return allocations_; }
  int64_t copies() const { return copies_; }

 private:
  emulated::DeviceMemory& memory_;
  emulated::LaunchWatch& watch_;
  DeviceInfo info_;
  int64_t allocations_ = 0, copies_ = 0;
};

}  // namespace convscope::real_sizes
