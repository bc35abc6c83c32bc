// Limits that many algorithms have, for first_refusal() in Algorithm::takes(): each is said in one way.
// Limits of one algorithm alone are require().
#pragma once

#include <string>

#include "bench/algorithm/algorithm.hpp"

namespace convscope {

// A limit of the math mode: `why` goes behind "math bf16: ".
inline Support require_math(bool holds, const ConvProblem& problem, const std::string& why) {
  return require(holds, Reason::unsupported_math, "math " + std::string(name(problem.math)) + ": " + why);
}
inline Support fp32_only(const ConvProblem& problem) {
  return require_math(problem.math == MathMode::fp32, problem, "this algorithm computes in fp32 only");
}
inline Support nchw_or_nhwc(const ConvProblem& problem) {
  return require(problem.layout != Layout::chwn, Reason::unsupported_layout,
                 "layout chwn: this algorithm takes nchw and nhwc");
}

}  // namespace convscope
