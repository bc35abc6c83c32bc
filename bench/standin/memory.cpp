// Device memory as pages of the process, and the runtime's allocations, copies and fills.
#include "bench/standin/memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "bench/standin/configuration.hpp"
#include "bench/standin/devices.hpp"
#include "bench/standin/stream.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace convscope::standin {
namespace {

constexpr int kHost = -1;  // pinned memory, which every device may use

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

// Larger allocations are not filled with NaN: pages that nobody touches take no memory.
constexpr size_t kFilledBytes = size_t{256} << 20;
// Linux allows 65,530 mappings per process.
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

// NaN until written. Null where the device has no such amount left.
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

// False for what is not allocated.
bool release(void* data) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  const auto found = m.live.find(reinterpret_cast<u64>(data));
  if (found == m.live.end()) return false;
  m.used[found->second.device] -= found->second.bytes;
  guard_tail(data, found->second.bytes, false);
  // Frees the pages and keeps the addresses reserved.
  mmap(data, found->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  m.freed.insert(*found);
  m.freed_order.push_back(found->first);
  m.live.erase(found);
  if (m.freed.size() > kMaxFreed) forget_oldest(m);
  return true;
}

bool is_live(const void* data, size_t bytes, int device) {
  const auto address = reinterpret_cast<u64>(data);
  const ptx::Range range = allocation_around(device, address);
  return bytes == 0 || (range.end != 0 && address + bytes <= range.end);
}

// Roughly the bandwidths of HBM and of the host's bus.
constexpr Nanoseconds kOperationCost = 1500;
Nanoseconds copy_cost(size_t bytes, cudaMemcpyKind kind) {
  return kOperationCost + static_cast<Nanoseconds>(bytes / (kind == cudaMemcpyDeviceToDevice ? 2000 : 50));
}

// On the stream's thread: the memory may have been freed since.
bool found_gone(const char* what, const void* data, size_t bytes, int device) {
  if (is_live(data, bytes, device)) return false;
  std::fprintf(stderr, "standin: fault: %s of %zu bytes at %p, %s\n", what, bytes, data,
               describe_address(device, reinterpret_cast<u64>(data)).c_str());
  lose_device(cudaErrorIllegalAddress);
  return true;
}

cudaError_t free_memory(void* data, int device) {
  if (data == nullptr) return cudaSuccess;
  if (configuration().free_waits) wait_for_device(device);
  return release(data) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

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

using namespace convscope::standin;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (const cudaError_t error = result(cudaSuccess, __func__); error != cudaSuccess) return error;
  *data = allocate(current_device(), bytes);
  return *data != nullptr ? cudaSuccess : result(cudaErrorMemoryAllocation, __func__);
}

cudaError_t cudaFree(void* data) {
  return result(free_memory(data, current_device()), __func__);
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  *data = allocate(kHost, bytes);
  return result(*data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation, __func__);
}

cudaError_t cudaFreeHost(void* data) {
  return result(free_memory(data, current_device()), __func__);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return result(cudaSuccess, __func__);
}

// In the order of the default stream, which other streams do not wait for.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  if (error != cudaSuccess) return error;
  stream_or_default(nullptr, current_device()).wait();
  return result(cudaSuccess, __func__);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const int device = current_device();
  if (const cudaError_t error = result(cudaSuccess, __func__); error != cudaSuccess) return error;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if ((to_device && !is_live(to, bytes, device)) || (from_device && !is_live(from, bytes, device)))
    return result(cudaErrorInvalidValue, __func__);
  stream_or_default(stream, device).push([=](Nanoseconds begin) {
    if (is_lost()) return begin;
    if (to_device && found_gone("cudaMemcpyAsync to", to, bytes, device)) return begin;
    if (from_device && found_gone("cudaMemcpyAsync from", from, bytes, device)) return begin;
    std::memmove(to, from, bytes);
    return begin + copy_cost(bytes, kind);
  });
  return cudaSuccess;
}

// Within a device's memory only.
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const int device = current_device();
  if (const cudaError_t error = result(cudaSuccess, __func__); error != cudaSuccess) return error;
  const auto extent = [=](size_t pitch) { return height == 0 ? 0 : pitch * (height - 1) + width; };
  const size_t to_bytes = extent(to_pitch), from_bytes = extent(from_pitch);
  if (kind != cudaMemcpyDeviceToDevice || width > to_pitch || width > from_pitch ||
      !is_live(to, to_bytes, device) || !is_live(from, from_bytes, device))
    return result(cudaErrorInvalidValue, __func__);
  stream_or_default(stream, device).push([=](Nanoseconds begin) {
    if (is_lost() || found_gone("cudaMemcpy2DAsync to", to, to_bytes, device) ||
        found_gone("cudaMemcpy2DAsync from", from, from_bytes, device))
      return begin;
    for (size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                  width);
    return begin + copy_cost(width * height, kind);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const int device = current_device();
  if (!is_live(to, bytes, device)) return result(cudaErrorInvalidValue, __func__);
  stream_or_default(stream, device).push([=](Nanoseconds begin) {
    if (is_lost() || found_gone("cudaMemsetAsync", to, bytes, device)) return begin;
    std::memset(to, value, bytes);
    return begin + copy_cost(bytes, cudaMemcpyDeviceToDevice);
  });
  return result(cudaSuccess, __func__);
}

}  // extern "C"
