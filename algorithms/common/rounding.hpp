// Strides that spread over the cache sets, and the arithmetic of blocks (bench/core/rounding.hpp).
#pragma once

#include <cstdint>

#include "bench/core/rounding.hpp"

namespace convscope {

// Rounds a stride in floats up to an odd number of 64-byte lines: steps of it visit all cache sets, which
// powers of two would share.
constexpr int64_t odd_lines(int64_t floats) {
  return (ceil_div(floats, 16) | 1) * 16;
}
// What odd_lines() adds at most.
inline constexpr int64_t kOddLinesPadding = 31;

}  // namespace convscope
