// How much larger Winograd's rounding errors are than those of the direct sum, computed from the matrices of
// a geometry's largest tiles; and how long its sums may be.
#pragma once

#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

// Algorithm::error_growth(): how much larger the terms of the interpolation are than those of the direct sum,
// in root mean square over both dimensions, of the output in which that is largest.
double error_growth(const Geometry& geometry);

// Algorithm::sum_growth(): the same in the mean over the outputs, and a tenth for the tiles' own rounding.
// Errors in tests on the emulator are 1.0 to 1.12 times the mean.
double sum_growth(const Geometry& geometry);

// The most additions that may follow one another (Plan::longest_sum()) for an expected error a little below
// the part of verification's gate that may be predicted (bench/algorithm/predicted_error.hpp).
double max_additions(const Geometry& geometry);

}  // namespace convscope::winograd
