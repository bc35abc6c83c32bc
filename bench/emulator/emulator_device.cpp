#include "bench/emulator/emulator_device.hpp"

#include <unistd.h>

#include <cstring>

#include "bench/device/device_error.hpp"
#include "bench/emulator/device_memory.hpp"
#include "bench/emulator/emulator_queue.hpp"

namespace convscope {

using emulated::DeviceMemory;

EmulatorDevice::EmulatorDevice(EmulatorOptions options)
    : options_(options), memory_(std::make_unique<DeviceMemory>()) {
  info_.kind = DeviceKind::emulator;
  info_.name = "host emulator of CUDA kernels";
  info_.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

EmulatorDevice::~EmulatorDevice() = default;

std::unique_ptr<Queue> EmulatorDevice::make_queue() {
  return std::make_unique<emulated::EmulatorQueue>(*memory_, options_);
}

void* EmulatorDevice::allocate(size_t bytes) {
  return memory_->allocate(bytes);
}

void EmulatorDevice::release(void* data) noexcept {
  memory_->release(data);
}

void EmulatorDevice::protect(const void* data, size_t bytes) {
  memory_->protect(data, bytes);
}

void EmulatorDevice::copy_to_device(void* to, const void* from, size_t bytes) {
  if (!memory_->contains(to, bytes)) throw DeviceError("emulator: copy to memory that is not the device's");
  const DeviceMemory::Access access(*memory_, DeviceMemory::Access::For::copies);
  std::memcpy(to, from, bytes);
}

void EmulatorDevice::copy_to_host(void* to, const void* from, size_t bytes) {
  if (!memory_->contains(from, bytes))
    throw DeviceError("emulator: copy from memory that is not the device's");
  const DeviceMemory::Access access(*memory_, DeviceMemory::Access::For::copies);
  std::memcpy(to, from, bytes);
}

}  // namespace convscope
