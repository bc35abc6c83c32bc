// How many tiles and columns of a spectral product the GPU works on at a time, under the workspace cap. Pure
// arithmetic; blocking.hpp is the CPU's, whose depth and panels the GPU does not have.
#pragma once

#include <cstdint>

#include "algorithms/common/rounding.hpp"
#include "algorithms/fft/geometry.hpp"

namespace convscope::fft {

// Rows of spectra are padded to this many complex numbers, 16 bytes.
inline constexpr int64_t kRowUnit = 2;
constexpr int64_t padded_row(int64_t count) {
  return round_up(count, kRowUnit);
}

struct TiledBlocking {
  int64_t tiles = 0, columns = 0;
  bool keep_filters = false;  // the spectra of all filters stay in the workspace: prepare() makes them
};

// Spectra of `size` complex bins. Columns are blocked only when the spectra of the whole filter
// (backward_filter: of its gradient) do not fit. Tiles are also blocked where the filter's spectra are so
// small that reading them again costs less than letting those of the tiles leave a cache of `llc_bytes` (0:
// none). The smallest block is of 32 tiles and 32 columns, or all where there are fewer, and as much larger
// as kMaxLaunches asks for; a cap too small for it is exceeded by it.
TiledBlocking choose_tiled_blocking(const Geometry& geometry, int64_t bins, int64_t groups, int64_t llc_bytes,
                                    int64_t workspace_cap);

// Kernels that a run launches at most: a launch costs the host some microseconds, and so small a block's work
// little more.
inline constexpr int64_t kMaxLaunches = 2000;
int64_t launches(const Geometry& geometry, const TiledBlocking& blocking);

// Bytes of the three areas of spectra.
int64_t spectra_bytes(const Geometry& geometry, int64_t bins, int64_t groups, const TiledBlocking& blocking);

}  // namespace convscope::fft
