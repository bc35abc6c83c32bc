// Takes memory out of the processor's caches, so that what uses it next finds it in main memory.
#pragma once

#include <cstddef>
#include <span>

namespace convscope {

// Drops all lines of this memory, dirty ones after they are written back, on all OpenMP threads. Processors
// without an instruction for it read twice their last-level cache, at most a quarter of the memory, instead.
void evict_from_caches(std::span<const std::span<const std::byte>> memory);

}  // namespace convscope
