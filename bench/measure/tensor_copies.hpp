// TensorCopies: the operands that all candidates of a group share, in as many copies as the cache state
// needs. All copies hold the same uniform random data, never zeros.
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
  // The copies of one tensor, contiguous in memory; a single one where the state holds the tensor fixed.
  struct Copies {
    Buffer slab;
    size_t step = 0;  // bytes from one copy to the next
    size_t count = 1;
  };
  std::array<Copies, 3> tensors_;  // by role
  Buffer bias_;                    // of the epilogue: one, as it is small
  int64_t count_ = 1;
  size_t turn_ = 0;
};

// How many copies of `bytes` make a cold cache: 2 or more, twice the last-level cache together, but no more
// than a quarter of the memory holds, down to 1.
int64_t cold_copies(int64_t bytes, const DeviceInfo& device);

// Of the device's memory that the copies of all three tensors take.
int64_t copied_bytes(const ConvProblem& problem, CacheState cache, const DeviceInfo& device);

}  // namespace convscope
