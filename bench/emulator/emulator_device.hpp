// The emulator as a device: runs the kernels of .cu files on the CPU to see whether they are right. It is
// never timed: its queue reports 0 seconds. docs/emulator.md tells what it checks and what it cannot.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "bench/device/device.hpp"
#include "bench/emulator/options.hpp"

namespace convscope {
namespace emulated {

// The device's memory: host memory that is NaN until written, that knows its bounds, and that host code may
// not touch outside a DeviceMemory::Access (the address sanitizer then reports it).
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory();

  virtual void* allocate(size_t bytes);  // aligned to a page; throws std::bad_alloc
  virtual void release(void* data) noexcept;
  // Part of an allocation that is open for copies only.
  void protect(const void* data, size_t bytes);
  // True where all of [data, data + bytes) is one allocation's, its end included.
  virtual bool contains(const void* data, size_t bytes) const;

  // Opens the memory for as long as it lives, to kernels and libraries without its protected parts. One at a
  // time.
  class Access {
   public:
    enum class For { kernels, copies };
    explicit Access(DeviceMemory& memory, For whom = For::kernels);
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access();

   private:
    DeviceMemory& memory_;
  };

 private:
  std::map<const unsigned char*, size_t> sizes_, protected_;
};

}  // namespace emulated

class EmulatorDevice final : public Device {
 public:
  explicit EmulatorDevice(EmulatorOptions options = {});

  const DeviceInfo& info() const override { return info_; }
  // Kernels launched on the queue run at once, in the order of the options. The device must outlive it.
  std::unique_ptr<Queue> make_queue() override;
  void* allocate(size_t bytes) override { return memory_.allocate(bytes); }  // NaN until written
  void release(void* data) noexcept override { memory_.release(data); }
  void protect(const void* data, size_t bytes) override { memory_.protect(data, bytes); }
  // Throw DeviceError when the device's side of the copy is not device memory.
  void copy_to_device(void* to, const void* from, size_t bytes) override;
  void copy_to_host(void* to, const void* from, size_t bytes) override;

 private:
  EmulatorOptions options_;
  DeviceInfo info_;
  emulated::DeviceMemory memory_;
};

}  // namespace convscope
