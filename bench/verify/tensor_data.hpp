// The data that candidates are checked on: every element is a pure function of seed, data kind, tensor and
// memory offset, so that it can be filled in parallel and recomputed to see whether somebody changed it.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {

// The max number of products in the sum of one element of the written tensor.
int64_t reduction_length(const ConvProblem& problem);

// The two tensors that the pass reads.
std::array<Role, 2> read_roles(Pass pass);

// The bias of the problem's epilogue, a value for each output channel in f32 whatever the math mode, of the
// range of the tensors; empty where there is none.
std::vector<float> bias_data(const ConvProblem& problem, DataKind kind, uint64_t seed);

// The same in device memory; an empty buffer where there is none.
Buffer bias_buffer(const std::vector<float>& bias, Device& device);

class TensorData {
 public:
  TensorData(const ConvProblem& problem, Role role, DataKind kind, uint64_t seed);

  int64_t elements() const { return elements_; }
  // The element at a memory offset, a value that the storage type of the math mode holds. Whole numbers lie
  // in [-2, 2], or fewer and sparser where the reduction is so long that a sum of magnitudes could leave
  // f32's exact range of 2^24.
  float at(int64_t offset) const;
  std::vector<float> generate() const;

 private:
  int64_t elements_;
  DataKind kind_;
  DataType storage_;
  uint64_t seed_;
  int64_t half_range_ = 2;
  int64_t one_in_ = 1;  // of so many whole numbers one is kept, the others are 0
};

}  // namespace convscope
