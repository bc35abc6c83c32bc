// The arithmetic of the 1-D transforms: additions and multiplications of one line of one channel, counted
// from the factored matrices of which the code for CPUs and GPUs is made.
#pragma once

#include "algorithms/winograd/toom_cook.hpp"

namespace convscope::winograd {

// More than kLargestAlpha points have at most kLargestAlpha taps and outputs. A line of one point costs
// nothing.
struct LineCosts {
  int data[kLargestAlpha1d + 1] = {};                            // [alpha]: alpha inputs to alpha points
  int evaluate[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};     // [alpha][n]: n taps to alpha points
  int interpolate[kLargestAlpha1d + 1][kLargestAlpha + 1] = {};  // [alpha][n]: alpha points to n outputs
};
const LineCosts& line_costs();

}  // namespace convscope::winograd
