// BlockSums: checksums that cover every element of the tensor that a pass writes, for problems too large to
// be compared element by element. At each position, blocks of channels are added with random signs.
// Convolution is linear in the tensor that has this channel axis too, so the expected sums are the
// convolution of that tensor with its channels added first, which is cheaper by the block size.
//   forward: channels of output and filter (k) · backward_data: of input and filter (c) · backward_filter:
//   of filter and output (k)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {

class BlockSums {
 public:
  // Blocks of `block` channels, the last one of each group may be shorter.
  BlockSums(const ConvProblem& problem, int64_t block, uint64_t seed);

  // The expected sums, from the two tensors that the pass reads (the third may be null), and the bias where
  // one is added.
  std::vector<double> expected(const float* input, const float* filter, const float* output,
                               std::span<const float> bias = {}) const;
  // The sums of a candidate's result, in the same order.
  std::vector<double> of_result(const float* written) const;

  int64_t block() const { return block_; }
  // The range of channels behind one sum and its position: "output[n=0 k=32..63 p=1 q=2]".
  std::string describe(size_t sum) const;

 private:
  template <typename T>
  std::vector<double> folded(Role role, const T* tensor) const;
  // First and last channel of block `folded_channel`, counted over all groups or within one group.
  std::array<int64_t, 2> channels(int64_t folded_channel) const;

  ConvProblem problem_;
  ConvProblem folded_problem_;  // with a block in place of a channel
  int64_t block_;
  int64_t per_group_;          // channels of a group before,
  int64_t folded_per_group_;   // and after
  std::vector<double> signs_;  // +1 or -1 for each channel, at random
};

// The smallest power of two for which the expected sums take at most `multiply_adds`, or a whole group.
int64_t block_for_cost(const ConvProblem& problem, double multiply_adds);

}  // namespace convscope
