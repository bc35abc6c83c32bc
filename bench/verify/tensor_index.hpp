// Logical indices of a tensor: to text, back from a memory offset, and which outputs of a large problem are
// compared one by one. Order and letters as in TensorShape: n c h w input, k c r s filter, n k p q output.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope {

using TensorIndex = std::array<int64_t, 4>;

inline int64_t offset_of(const TensorShape& shape, const TensorIndex& i) {
  return shape.offset(i[0], i[1], i[2], i[3]);
}

// The logical index of a memory offset in a dense tensor of any layout.
TensorIndex index_of_offset(const TensorShape& shape, int64_t offset);

// "output[n=0 k=3 p=26 q=26]"
std::string element_name(Role role, const TensorIndex& index);

// A stratified sample; every output is covered besides by the sums of block_sums.hpp. About `count` different
// indices of the tensor that the pass writes, in memory order: the corners; half with
// coordinates where tilings break (edges, every residue modulo each tile size up to 32, the edges of the last
// tile, blocks of 8, 16 and 32 channels, group borders, first and last image), in shuffled combinations that
// use each such coordinate; the rest anywhere. All indices when there are no more than `count`.
std::vector<TensorIndex> sample_outputs(const ConvProblem& problem, int64_t count, uint64_t seed);

// All indices, in memory order.
std::vector<TensorIndex> all_outputs(const ConvProblem& problem);

}  // namespace convscope
