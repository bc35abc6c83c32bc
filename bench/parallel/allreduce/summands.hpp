// What sums over ranks are verified with.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "bench/core/random.hpp"

namespace convscope {

// Integers of each rank that any rank can compute; sums over fewer than 16,777 ranks are exact in any order.
inline float integer_summand(uint64_t seed, int rank, size_t i) {
  return static_cast<float>(random_below(seed + static_cast<uint64_t>(rank), i, 2001) - 1000);
}

// Of the values' bits, in their order.
inline uint64_t hash_of_bits(std::span<const float> values) {
  uint64_t hash = 0;
  for (float value : values) hash = random_bits(hash, std::bit_cast<uint32_t>(value));
  return hash;
}

}  // namespace convscope
