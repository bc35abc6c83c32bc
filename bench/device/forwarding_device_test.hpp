// A device that is another one, for tests that change some of what it says or does.
#pragma once

#include <memory>

#include "bench/device/device.hpp"

namespace convscope::testing {

class ForwardingDevice : public Device {
 public:
  // `device` outlives it.
  explicit ForwardingDevice(Device& device) : device_(device) {}
  const DeviceInfo& info() const override { return device_.info(); }
  std::unique_ptr<Queue> make_queue() override { return device_.make_queue(); }
  void* allocate(size_t bytes) override { return device_.allocate(bytes); }
  void release(void* data) noexcept override { device_.release(data); }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    device_.copy_to_device(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    device_.copy_to_host(to, from, bytes);
  }
  void fill(void* data, unsigned char byte, size_t bytes) override { device_.fill(data, byte, bytes); }
  int64_t usable_bytes() override { return device_.usable_bytes(); }
  void protect(const void* data, size_t bytes) override { device_.protect(data, bytes); }
  DeviceState state() override { return device_.state(); }

 protected:
  Device& device_;
};

// One that another program uses, where `is_shared`.
class SharedDevice final : public ForwardingDevice {
 public:
  SharedDevice(Device& device, bool is_shared) : ForwardingDevice(device), is_shared_(is_shared) {}
  DeviceState state() override {
    DeviceState now;
    if (is_shared_) now.others = OthersUse{0.5, "python (pid 4242) 50%"};
    return now;
  }

 private:
  bool is_shared_;
};

}  // namespace convscope::testing
