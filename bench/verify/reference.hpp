// The definition: seven loops in f64, any layout, stride, dilation and groups, the three passes. What every
// other algorithm is compared with; never timed against them.
#pragma once

#include <array>
#include <cstdint>

#include "bench/core/problem.hpp"

namespace convscope {

// One element of the tensor that the pass writes, from f32 tensors in the problem's layout. `index` is
// logical: (n, c, h, w) for activations, (k, c, r, s) for filters. The tensor that is written is not read
// (may be null).
double reference_element(const ConvProblem& problem, const float* input, const float* filter,
                         const float* output, const std::array<int64_t, 4>& index);

}  // namespace convscope
