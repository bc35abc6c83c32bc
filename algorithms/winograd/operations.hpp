// What a Winograd plan does, counted from its tiles and matrices; runs nothing.
#pragma once

#include "algorithms/winograd/geometry.hpp"
#include "bench/core/algorithm_info.hpp"

namespace convscope::winograd {

// Padding to tile multiples included, and that of channels to whole vectors and panels.
OperationCount count_operations(const Geometry& geometry);

// The root-mean-square growth of the terms against the direct sum, both dimensions, of the largest tiles: of
// the output in which it is largest, and of all.
struct TermGrowth {
  double largest = 1, mean = 1;
};
TermGrowth term_growth(const Geometry& geometry);

// Algorithm::sum_growth(): the mean, and a tenth for the tiles' own rounding. Measured over the mean: 1.12
// for F(6x6, 3x3) and F(4x4, 3x3), 1.0 for F(5x5, 3x3) and F(4x4, 5x5), backward-filter.
double sum_growth(const Geometry& geometry);
// Additions that may follow one another (Plan::longest_sum()): as many as let expect an error a little below
// the part of verification's gate that may be predicted.
double most_additions(const Geometry& geometry);

}  // namespace convscope::winograd
