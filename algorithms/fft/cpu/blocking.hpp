// How the indices of the spectral product are cut into blocks that fit the caches and the workspace cap. Pure
// arithmetic.
#pragma once

#include <cstdint>

#include "algorithms/fft/geometry.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::fft {

// The largest depth of one product on panels: real and imaginary panel of B stay in the first-level cache.
inline constexpr int64_t kProductDepth = 192;

// How much of each index of Y[row][column] = sum over depth is worked on at a time; whole or a part. Sizes of
// workspace areas follow from it.
struct Blocking {
  int64_t rows = 0, columns = 0, depth = 0;
  bool keep_filters = false;  // the spectra of all filters stay in the workspace: prepare() makes them
};

// forward, backward_data: all filter spectra are kept when they fit the cap, and rows (tiles) are blocked;
// otherwise columns are blocked too, each block's filters transformed in run(). backward_filter: columns are
// blocked, and depth (tiles) only when A does not fit. A cap that is too small for the smallest block is
// exceeded by that block.
Blocking choose_blocking(const Geometry& geometry, int size, int64_t groups, int64_t llc_bytes,
                         const PlanOptions& options);

}  // namespace convscope::fft
