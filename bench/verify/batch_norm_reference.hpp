// The part of operation_reference.hpp that is batch normalisation's: its definition in f64 and its data.
#pragma once

#include <cstdint>

#include "bench/verify/operation_reference.hpp"

namespace convscope {

// x on a grid of 1/512 about another mean in each channel; scales from 1/2 to 3/2; shifts with which the
// output is zero between two points of the grid, so that f32 and f64 agree on what a ReLU behind it lets
// pass. The other tensors are left alone; x and parameter have their sizes.
void fill_batch_norm(const OperationProblem& problem, uint64_t seed, BySlot<float>& data);

// What y, or dx and the parameters' gradient, must hold. Ioffe and Szegedy 2015, algorithm 1 and the
// derivatives in section 3.
void batch_norm_reference(const OperationProblem& problem, const BySlot<float>& data,
                          BySlot<double>& expected);

}  // namespace convscope
