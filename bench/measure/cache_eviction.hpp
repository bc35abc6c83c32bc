// Takes memory out of the processor's caches, so that what uses it next finds it in main memory.
#pragma once

#include <cstddef>
#include <span>

namespace convscope {

// Whether the processor can drop single lines; elsewhere everything is evicted.
#if defined(__x86_64__)
inline constexpr bool kEvictsRanges = true;
#else
inline constexpr bool kEvictsRanges = false;
#endif

// Drops all lines of this memory, dirty ones after they are written back, on all OpenMP threads. Where single
// lines cannot be dropped it reads twice the last-level cache, at most a quarter of the memory, instead.
void evict_from_caches(std::span<const std::span<const std::byte>> memory);

}  // namespace convscope
