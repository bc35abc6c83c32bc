// Takes memory out of the processor's caches, so that what reads it next reads it from memory.
#pragma once

#include <cstddef>
#include <span>

#include "bench/device/buffer.hpp"

namespace convscope {

class CacheEviction {
 public:
  // Only processors without an instruction for it take memory: twice the last-level cache, at most a quarter
  // of the machine's.
  explicit CacheEviction(Device& device);
  // On all OpenMP threads. Elsewhere than on x86 everything is evicted, by reading that much memory instead.
  void evict(std::span<const std::span<const std::byte>> memory);

 private:
  Buffer instead_;
};

}  // namespace convscope
