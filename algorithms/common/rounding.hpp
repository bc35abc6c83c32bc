// Integer arithmetic of blocks and paddings.
#pragma once

#include <cstdint>

namespace convscope {

// For a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
constexpr int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

// Rounds a stride in floats up to an odd number of 64-byte lines: steps of it visit all cache sets, which
// powers of two would share.
constexpr int64_t odd_lines(int64_t floats) {
  return (ceil_div(floats, 16) | 1) * 16;
}
// What odd_lines() adds at most.
inline constexpr int64_t kOddLinesPadding = 31;

}  // namespace convscope
