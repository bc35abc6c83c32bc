// The definition of the three passes: seven loops over batch, channels, output and filter positions, and a
// tap outside the input contributes nothing. It derives no range and divides by nothing but the group size,
// so that it can be read against a textbook. Slow: expected values come from fast_reference.hpp, which a test
// holds against this one element by element. Any layout, stride, padding, dilation and group count.
#pragma once

#include <span>

#include "bench/core/problem.hpp"

namespace convscope {

// Fills `values` with the tensor that the pass writes, in f64 and in the problem's layout, from the two f32
// tensors that it reads and the bias of its epilogue; the pointer to the third is ignored. `magnitudes`,
// where it is not empty, gets the sums of the products' absolute values, which error bounds need. Both have
// elements(written_role(pass)) entries.
void reference(const ConvProblem& problem, const float* input, const float* filter, const float* output,
               std::span<double> values, std::span<double> magnitudes = {}, const float* bias = nullptr);

}  // namespace convscope
