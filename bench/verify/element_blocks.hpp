// What is done to each element of a large tensor on the host, shared out over threads in blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace convscope {

// Calls at(block, begin, end) for all blocks of so many elements, on all threads. Blocks do not depend on
// the number of threads, nor does what is summed by them.
inline constexpr size_t kElementsOfABlock = size_t{1} << 16;
constexpr size_t element_blocks(size_t count) {
  return (count + kElementsOfABlock - 1) / kElementsOfABlock;
}

template <typename At>
void for_each_block(size_t count, const At& at) {
  const auto blocks = static_cast<int64_t>(element_blocks(count));
#pragma omp parallel for schedule(static)
  for (int64_t block = 0; block < blocks; ++block) {
    const size_t begin = static_cast<size_t>(block) * kElementsOfABlock;
    at(static_cast<size_t>(block), begin, std::min(begin + kElementsOfABlock, count));
  }
}

inline bool have_same_bits(const std::vector<float>& one, const std::vector<float>& other) {
  if (one.size() != other.size()) return false;
  std::atomic<bool> are_same = true;
  for_each_block(one.size(), [&](size_t, size_t begin, size_t end) {
    if (std::memcmp(one.data() + begin, other.data() + begin, (end - begin) * sizeof(float)) != 0)
      are_same = false;
  });
  return are_same;
}

}  // namespace convscope
