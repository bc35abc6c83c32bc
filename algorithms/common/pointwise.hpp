// 1x1 convolutions that need no neighbourhood: what several algorithms treat as a plain matrix product.
#pragma once

#include "bench/core/problem.hpp"

namespace convscope {

// A 1x1 filter with stride 1 and no padding: output pixel (p, q) depends on input pixel (p, q) alone.
inline bool is_pointwise(const ConvProblem& problem) {
  return problem.filter == Extent2{1, 1} && problem.stride == Extent2{1, 1} && problem.pad == Extent2{0, 0};
}

}  // namespace convscope
