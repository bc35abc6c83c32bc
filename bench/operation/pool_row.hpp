// PoolRow: scratch of max pooling, apart from pool.cpp as Highway includes that once for each instruction
// set.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace convscope {

// A row with the padding on both sides, and room for a vector behind it. Padding has a place inside the
// image, so that a place is valid whatever the values are, NaN included.
struct PoolRow {
  PoolRow(int64_t width, int64_t pad)
      : value(static_cast<size_t>(width + 2 * pad + kRoom), -std::numeric_limits<float>::infinity()),
        place(value.size()) {}
  static constexpr int64_t kRoom = 64;
  std::vector<float> value;
  std::vector<int32_t> place;
};

}  // namespace convscope
