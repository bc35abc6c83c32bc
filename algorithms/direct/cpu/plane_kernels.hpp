// The inner loops of depthwise convolution over single planes (one channel of one image), with the columns of
// a row in the lanes. One table of functions for each instruction set. Steps are in elements.
#pragma once

#include <cstdint>

namespace convscope::direct {

// Copies rows of a plane, padding them with zeros: column c * step + residue to to[residue * residue_step +
// c]. Rows outside the plane become zeros. Writes whole vectors, zeros past a row's last column.
struct PlaneStageJob {
  const float* from = nullptr;         // row 0 of the plane, whose columns lie side by side
  int64_t extent = 0;                  // its rows
  int64_t columns = 0;                 // of a row, and from one row to the next
  int64_t first_row = 0, end_row = 0;  // to copy; may lie outside
  int64_t step = 1;                    // 1 or 2
  float* to = nullptr;
  int64_t row_step = 0, residue_step = 0;
};

// Up to three taps of a filter column. Tap i reads i * in_row_step further than the first, which is what tap
// 0 reads for output row i: each value is loaded once for all of them.
struct TapRun {
  int64_t offset = 0;      // of the first, relative to the output's position in the staged plane
  int64_t weight[3] = {};  // places in the filter
};

struct TapRuns {
  const TapRun* runs = nullptr;  // those of three taps, then of two, then of one
  int64_t threes = 0, twos = 0, ones = 0;
  int64_t taps() const { return 3 * threes + 2 * twos + ones; }
};

// out[row * out_row_step + column * residues + residue] = sum over the residue's taps of
//   in[row * in_row_step + column + offset] * filter[weight].
// Backward-data with a column stride of 2 has two residues. Reads whole vectors of `in`.
struct PlaneJob {
  const float* in = nullptr;
  int64_t in_row_step = 0;
  const float* filter = nullptr;
  int residues = 1;  // 1 or 2
  TapRuns taps[2];
  float* out = nullptr;
  int64_t out_row_step = 0;
  int64_t rows = 0, columns = 0;  // of `out`: those of all residues
};

// sums[weight * lanes + lane] += sum over rows and columns = lane mod lanes of
//   in[row * in_row_step + column + offset] * out[row * out_row_step + column].
// Reads whole vectors of `in`, which must be finite.
struct PlaneGradientJob {
  const float* in = nullptr;
  int64_t in_row_step = 0;
  const float* out = nullptr;
  int64_t out_row_step = 0;
  int64_t rows = 0, columns = 0;
  TapRuns taps;
  float* sums = nullptr;
};

struct PlaneKernels {
  void (*stage)(const PlaneStageJob&) = nullptr;
  void (*correlate)(const PlaneJob&) = nullptr;
  void (*gradient)(const PlaneGradientJob&) = nullptr;
  // sums[i] = the sum of vector i of `count` vectors that lie side by side.
  void (*add_lanes)(const float* vectors, int64_t count, float* sums) = nullptr;
};

// The table for the instruction set that best_kernels() takes.
PlaneKernels best_plane_kernels();

}  // namespace convscope::direct
