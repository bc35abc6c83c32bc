#include "bench/standin/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "bench/standin/configuration.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace convscope::standin {
namespace {

using ptx::u64;

// The bytes between an allocation's end and that of its last page: kernels of the host's compiler must not
// touch them either.
void guard_tail([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes, [[maybe_unused]] bool on) {
#if defined(__SANITIZE_ADDRESS__)
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* end = static_cast<unsigned char*>(data) + bytes;
  const size_t tail = (page - bytes % page) % page;
  if (on)
    __asan_poison_memory_region(end, tail);
  else
    __asan_unpoison_memory_region(end, tail);
#endif
}

struct Allocation {
  size_t bytes;
  int device;
};

struct Memory {
  std::mutex mutex;
  std::map<u64, Allocation> live;
  std::map<int, size_t> used;  // by device
  std::map<u64, Allocation> freed;
  std::deque<u64> freed_order;
};

Memory& memory() {
  static auto* m = new Memory;
  return *m;
}

// Large ones are NaN only at their beginning: the rest is not touched, so that it costs no memory.
constexpr size_t kFilledBytes = size_t{256} << 20;
// Linux has 65,530 mappings for a process.
constexpr size_t kMaxFreed = 8192;

void forget_oldest(Memory& m) {
  const u64 begin = m.freed_order.front();
  m.freed_order.pop_front();
  munmap(reinterpret_cast<void*>(begin), m.freed.at(begin).bytes);
  m.freed.erase(begin);
}

const std::pair<const u64, Allocation>* around(const std::map<u64, Allocation>& all, u64 address) {
  auto next = all.upper_bound(address);
  if (next == all.begin()) return nullptr;
  --next;
  return address < next->first + next->second.bytes ? &*next : nullptr;
}

}  // namespace

void* allocate(int device, size_t bytes) {
  Memory& m = memory();
  const size_t size = bytes == 0 ? 1 : bytes;
  {
    const std::lock_guard lock(m.mutex);
    if (device != kHost && size > configuration().memory_bytes - m.used[device]) return nullptr;
  }
  void* data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  if (size <= kFilledBytes) std::memset(data, 0xff, size);
  guard_tail(data, size, true);
  const std::lock_guard lock(m.mutex);
  m.live[reinterpret_cast<u64>(data)] = {size, device};
  m.used[device] += size;
  return data;
}

bool release(void* data) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  const auto found = m.live.find(reinterpret_cast<u64>(data));
  if (found == m.live.end()) return false;
  m.used[found->second.device] -= found->second.bytes;
  guard_tail(data, found->second.bytes, false);
  // The pages go, the addresses stay taken.
  mmap(data, found->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  m.freed.insert(*found);
  m.freed_order.push_back(found->first);
  m.live.erase(found);
  if (m.freed.size() > kMaxFreed) forget_oldest(m);
  return true;
}

size_t used_bytes(int device) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  return m.used[device];
}

ptx::Range allocation_around(int device, u64 address) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  const auto* found = around(m.live, address);
  if (found == nullptr || (found->second.device != device && found->second.device != kHost)) return {};
  return {found->first, found->first + found->second.bytes};
}

std::string describe_address(int device, u64 address) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  if (const auto* freed = around(m.freed, address))
    return fmt::format("in an allocation of {} bytes that was freed", freed->second.bytes);
  if (const auto* live = around(m.live, address); live != nullptr && live->second.device != device)
    return fmt::format("in memory of device {}", live->second.device);
  return "which is in no allocation";
}

}  // namespace convscope::standin
