// What a Winograd plan does, counted from its tiles and matrices; runs nothing.
#pragma once

#include "algorithms/winograd/geometry.hpp"
#include "bench/core/result.hpp"

namespace convscope::winograd {

// Padding to tile multiples included, and that of channels to whole vectors and panels.
OperationCount count_operations(const Geometry& geometry);

// The root-mean-square growth of the terms against the direct sum, both dimensions, of the largest tiles.
double term_growth(const Geometry& geometry);

}  // namespace convscope::winograd
