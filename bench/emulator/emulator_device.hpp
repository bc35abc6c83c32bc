// The emulator as a device: runs the kernels of .cu files on the CPU to see whether they are right. It is
// never timed: its queue reports 0 seconds. docs/emulator.md tells what it checks and what it cannot.
#pragma once

#include <memory>

#include "bench/device/device.hpp"
#include "bench/emulator/options.hpp"

namespace convscope {

namespace emulated {
class DeviceMemory;
}

class EmulatorDevice final : public Device {
 public:
  explicit EmulatorDevice(EmulatorOptions options = {});
  ~EmulatorDevice() override;

  const DeviceInfo& info() const override { return info_; }
  // Kernels launched on the queue run at once, in the order of the options. The device must outlive it.
  std::unique_ptr<Queue> make_queue() override;
  void* allocate(size_t bytes) override;  // NaN until written
  void release(void* data) noexcept override;
  void protect(const void* data, size_t bytes) override;
  // Throw DeviceError when the device's side of the copy is not device memory.
  void copy_to_device(void* to, const void* from, size_t bytes) override;
  void copy_to_host(void* to, const void* from, size_t bytes) override;

 private:
  EmulatorOptions options_;
  DeviceInfo info_;
  std::unique_ptr<emulated::DeviceMemory> memory_;
};

}  // namespace convscope
