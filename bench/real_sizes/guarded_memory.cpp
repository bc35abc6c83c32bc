#include "bench/real_sizes/guarded_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <new>

namespace convscope::real_sizes {
namespace {

constexpr size_t kGuard = size_t{20} << 30, kPage = 4096, kAlignment = 256;

size_t round_to(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

GuardedMemory::~GuardedMemory() {
  for (const Buffer& buffer : buffers_) munmap(buffer.reserved, buffer.reserved_bytes);
}

void* GuardedMemory::allocate(size_t bytes) {
  const size_t inside = round_to(std::max<size_t>(bytes, 1), kAlignment);
  const size_t room = round_to(inside, kPage), all = room + 2 * kGuard;
  void* const reserved = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<unsigned char*>(reserved) + kGuard;
  if (mprotect(begin, room, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  unsigned char* const data = begin + room - inside;
  buffers_.push_back({data, static_cast<unsigned char*>(reserved), bytes, all});
  return data;
}

void GuardedMemory::release(void* data) noexcept {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [data](const Buffer& buffer) { return buffer.data == data; });
  if (found == buffers_.end()) return;
  munmap(found->reserved, found->reserved_bytes);
  buffers_.erase(found);
}

bool GuardedMemory::contains(const void* data, size_t bytes) const {
  const auto* const begin = static_cast<const unsigned char*>(data);
  return std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
    return begin >= buffer.data && begin + bytes <= buffer.data + buffer.bytes;
  });
}

void GuardedMemory::make_read_only(void* data) {
  for (const Buffer& buffer : buffers_)
    if (buffer.data == data)
      mprotect(buffer.reserved + kGuard, buffer.reserved_bytes - 2 * kGuard, PROT_READ);
}

size_t GuardedMemory::describe(const void* address, char* text, size_t room) const {
  const auto* const at = static_cast<const unsigned char*>(address);
  size_t nearest = 0, index = buffers_.size();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const unsigned char *const begin = buffers_[i].data, *const end = begin + buffers_[i].bytes;
    const auto distance = static_cast<size_t>(at < begin ? begin - at : at < end ? 0 : at - end);
    if (index < buffers_.size() && distance >= nearest) continue;
    nearest = distance;
    index = i;
  }
  if (index == buffers_.size()) return 0;
  const Buffer& buffer = buffers_[index];
  const char* const where = at < buffer.data                  ? "bytes before its begin"
                            : at < buffer.data + buffer.bytes ? "bytes: it may only be read"
                                                              : "bytes behind its end";
  const int written =
      std::snprintf(text, room, "buffer %zu (%zu bytes), %zu %s", index, buffer.bytes, nearest, where);
  return written < 0 ? 0 : std::min(static_cast<size_t>(written), room);
}

}  // namespace convscope::real_sizes
