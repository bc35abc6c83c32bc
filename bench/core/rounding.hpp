// Integer arithmetic of blocks and paddings: the one place for it. Not for kernels, which compute with 32
// bits.
#pragma once

#include <cstdint>

namespace convscope {

// a / b, rounded up. For a >= 0, b > 0 and a + b within 64 bits.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
// a / b, rounded down. For b != 0.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
// The smallest multiple of b that is at least a.
constexpr int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}
// For a value that is known to fit into 32 bits.
constexpr int narrow(int64_t value) {
  return static_cast<int>(value);
}

}  // namespace convscope
