#include "bench/emulator/device_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "bench/emulator/sanitizers.hpp"

namespace convscope::emulated {

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

}  // namespace convscope::emulated
