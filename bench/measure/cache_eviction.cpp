#include "bench/measure/cache_eviction.hpp"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#else
#include <vector>

#include "bench/device/cpu/cpu_device.hpp"
#endif

namespace convscope {
namespace {

constexpr int64_t kLine = 64;

#if defined(__x86_64__)

bool has_clflushopt() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kExtendedFeatures = 7, kClflushopt = 1U << 23;
  return __get_cpuid_count(kExtendedFeatures, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kClflushopt) != 0;
}

// Its flushes are not ordered among themselves: a tenth of clflush's time.
__attribute__((target("clflushopt"))) void flush_unordered(std::span<const std::byte> memory) {
  // GCC's header wants a pointer through which one may write, though nothing is written.
  auto* const begin = const_cast<std::byte*>(memory.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  for (size_t at = 0; at < memory.size(); at += kLine) _mm_clflushopt(begin + at);
}

void flush_in_order(std::span<const std::byte> memory) {
  for (size_t at = 0; at < memory.size(); at += kLine) _mm_clflush(memory.data() + at);
}

#endif

}  // namespace

#if defined(__x86_64__)

void evict_from_caches(std::span<const std::span<const std::byte>> memory) {
  static const auto flush = has_clflushopt() ? flush_unordered : flush_in_order;
  constexpr int64_t kPart = 64 * kLine;
  for (std::span<const std::byte> range : memory) {
    if (range.empty()) continue;
    // From the beginning of a line on, so that the last one is among those flushed.
    const size_t before = reinterpret_cast<uintptr_t>(range.data()) % kLine;
    range = {range.data() - before, range.size() + before};
    const auto bytes = static_cast<int64_t>(range.size());
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (int64_t at = 0; at < bytes; at += kPart)
        flush(range.subspan(static_cast<size_t>(at), static_cast<size_t>(std::min(kPart, bytes - at))));
      _mm_mfence();  // of each thread: its flushes are done
    }
  }
}

#else

void evict_from_caches(std::span<const std::span<const std::byte>>) {
  static const std::vector<char> other = [] {
    const DeviceInfo cpu = describe_cpu();
    return std::vector<char>(static_cast<size_t>(std::min(2 * cpu.llc_bytes, cpu.memory_bytes / 4) + kLine),
                             char{1});
  }();
  const volatile char* const bytes = other.data();
  const auto count = static_cast<int64_t>(other.size());
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i += kLine) (void)bytes[i];
}

#endif

}  // namespace convscope
