#include "bench/emulator/emulator_device.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "bench/device/cpu/system_files.hpp"
#include "bench/device/device_error.hpp"
#include "bench/emulator/emulator_queue.hpp"
#include "bench/emulator/sanitizers.hpp"

namespace convscope {
namespace emulated {

using executor::asan::poison;
using executor::asan::unpoison;

DeviceMemory::~DeviceMemory() {
  for (const auto& [data, bytes] : sizes_) std::free(const_cast<unsigned char*>(data));
}

void* DeviceMemory::allocate(size_t bytes) {
  constexpr size_t page = 4096;
  void* data = nullptr;
  if (posix_memalign(&data, page, bytes ? bytes : 1)) throw std::bad_alloc();
  std::memset(data, 0xff, bytes);
  poison(data, bytes);
  sizes_[static_cast<unsigned char*>(data)] = bytes;
  return data;
}

void DeviceMemory::release(void* data) noexcept {
  const auto found = sizes_.find(static_cast<unsigned char*>(data));
  if (found == sizes_.end()) return;
  unpoison(data, found->second);
  protected_.erase(protected_.lower_bound(found->first),
                   protected_.lower_bound(found->first + found->second));
  sizes_.erase(found);
  std::free(data);
}

bool DeviceMemory::contains(const void* data, size_t bytes) const {
  const auto* begin = static_cast<const unsigned char*>(data);
  auto after = sizes_.upper_bound(begin);
  if (after == sizes_.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

void DeviceMemory::protect(const void* data, size_t bytes) {
  protected_[static_cast<const unsigned char*>(data)] = bytes;
}

DeviceMemory::Access::Access(DeviceMemory& memory, For whom) : memory_(memory) {
  for (const auto& [data, bytes] : memory_.sizes_) unpoison(data, bytes);
  if (whom == For::copies) return;
  for (const auto& [data, bytes] : memory_.protected_) poison(data, bytes);
}

DeviceMemory::Access::~Access() {
  for (const auto& [data, bytes] : memory_.sizes_) poison(data, bytes);
}

}  // namespace emulated

using emulated::DeviceMemory;

EmulatorDevice::EmulatorDevice(EmulatorOptions options) : options_(options) {
  info_.kind = DeviceKind::emulator;
  info_.name = "host emulator of CUDA kernels";
  info_.memory_bytes = allowed_memory("");
}

std::unique_ptr<Queue> EmulatorDevice::make_queue() {
  return std::make_unique<emulated::EmulatorQueue>(memory_, options_);
}

void EmulatorDevice::copy_to_device(void* to, const void* from, size_t bytes) {
  if (!memory_.contains(to, bytes)) throw DeviceError("emulator: copy to memory that is not the device's");
  const DeviceMemory::Access access(memory_, DeviceMemory::Access::For::copies);
  std::memcpy(to, from, bytes);
}

void EmulatorDevice::copy_to_host(void* to, const void* from, size_t bytes) {
  if (!memory_.contains(from, bytes))
    throw DeviceError("emulator: copy from memory that is not the device's");
  const DeviceMemory::Access access(memory_, DeviceMemory::Access::For::copies);
  std::memcpy(to, from, bytes);
}

}  // namespace convscope
