// The operands that all candidates of a group share, in as many copies as the cache state calls for. All
// copies hold the same uniform random data, never zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/problem.hpp"
#include "bench/device/buffer.hpp"
#include "bench/record/result.hpp"

namespace convscope {

class TensorCopies {
 public:
  TensorCopies(const ConvProblem& problem, Device& device, CacheState cache, uint64_t seed);

  // The operands of the next run: every call moves on to the next copy.
  ConvArgs next(void* workspace);
  // Copies rotated through; 1 in the hot state.
  int64_t count() const { return count_; }

 private:
  // The copies of one tensor, one behind the other; one only where the state holds the tensor fixed.
  struct Copies {
    Buffer slab;
    size_t step = 0;  // bytes from one copy to the next
    size_t count = 1;
  };
  std::array<Copies, 3> tensors_;  // by role
  int64_t count_ = 1;
  size_t turn_ = 0;
};

// How many copies of `bytes` make a cold cache: at least 2, and twice the last-level cache together, as far
// as a quarter of the memory holds them (then down to 1).
int64_t cold_copies(int64_t bytes, const DeviceInfo& device);

}  // namespace convscope
