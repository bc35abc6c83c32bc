#include "bench/measure/cache_eviction.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace convscope {
namespace {

TEST(CacheEviction, WritesBackWhatIsDirtyWhereverRangesBeginAndEnd) {
  constexpr size_t kBytes = 3 * 4096 + 100;
  std::vector<uint8_t> bytes(kBytes), expected(kBytes);
  std::iota(bytes.begin(), bytes.end(), uint8_t{7});
  std::iota(expected.begin(), expected.end(), uint8_t{7});
  const std::span all = std::as_bytes(std::span(bytes));
  for (const size_t begin : {0, 1, 63, 64, 4095})
    for (const size_t end : {kBytes, kBytes - 1, size_t{4160}, begin}) {
      const std::span<const std::byte> ranges[] = {all.subspan(begin, end - begin), all.first(1)};
      evict_from_caches(ranges);
      EXPECT_EQ(bytes, expected) << begin << " to " << end;
    }
  evict_from_caches({});
}

}  // namespace
}  // namespace convscope
