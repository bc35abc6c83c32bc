#include "bench/measure/cache_eviction.hpp"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace convscope {
namespace {

constexpr int64_t kLine = 64;

}  // namespace

#if defined(__x86_64__)

CacheEviction::CacheEviction(Device&) {}

void CacheEviction::evict(std::span<const std::span<const std::byte>> memory) {
  for (const std::span<const std::byte>& part : memory) {
    const auto lines = static_cast<int64_t>((part.size() + kLine - 1) / kLine);
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (int64_t line = 0; line < lines; ++line) _mm_clflush(part.data() + line * kLine);
      _mm_mfence();  // of each thread: its flushes are done
    }
  }
}

#else

CacheEviction::CacheEviction(Device& device)
    : instead_(device, static_cast<size_t>(
                           std::min(2 * device.info().llc_bytes, device.info().memory_bytes / 4) + kLine)) {
  std::fill_n(instead_.as<char>(), instead_.bytes(), char{1});
}

void CacheEviction::evict(std::span<const std::span<const std::byte>>) {
  const volatile char* const bytes = instead_.as<char>();
  const auto count = static_cast<int64_t>(instead_.bytes());
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i += kLine) (void)bytes[i];
}

#endif

}  // namespace convscope
