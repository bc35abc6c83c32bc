// Which outputs of a large problem are compared one by one: a stratified sample. Every output is covered
// besides by the sums of block_sums.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {

// About `count` different indices of the tensor that the pass writes, in memory order: the corners; half with
// coordinates where tilings break (edges, every residue modulo each tile size up to 32, the edges of the last
// tile, blocks of 8, 16 and 32 channels, group borders, first and last image), in shuffled combinations that
// use each such coordinate; the rest anywhere. All indices when there are no more than `count`.
std::vector<TensorIndex> sample_outputs(const ConvProblem& problem, int64_t count, uint64_t seed);

// All indices, in memory order.
std::vector<TensorIndex> all_outputs(const ConvProblem& problem);

}  // namespace convscope
