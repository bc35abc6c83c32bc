// Counter-based random bits: the same (seed, index) gives the same bits on every machine and thread count.
// Splitmix64's finaliser (Steele, Lea, Flood 2014). Not for cryptography.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace convscope {

constexpr uint64_t random_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Uniform in [-1, 1), a multiple of 2^-23.
constexpr float random_uniform(uint64_t seed, uint64_t index) {
  return static_cast<float>(static_cast<int32_t>(random_bits(seed, index) >> 40) - (1 << 23)) * 0x1p-23f;
}

// Uniform in [0, limit); limit below 2^32.
constexpr int64_t random_below(uint64_t seed, uint64_t index, int64_t limit) {
  return static_cast<int64_t>(((random_bits(seed, index) >> 32) * static_cast<uint64_t>(limit)) >> 32);
}

// Fisher and Yates: every order is as likely. `draws` counts the bits taken of the seed so far.
template <typename T>
constexpr void shuffle(std::vector<T>& values, uint64_t seed, uint64_t& draws) {
  for (size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1],
              values[static_cast<size_t>(random_below(seed, draws++, static_cast<int64_t>(left)))]);
}

// The hash of what was hashed before and this text behind it.
constexpr uint64_t hash_of_text(uint64_t before, std::string_view text) {
  for (char c : text) before = random_bits(before, static_cast<unsigned char>(c));
  return before;
}

}  // namespace convscope
