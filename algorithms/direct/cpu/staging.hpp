// The copy of a read tensor that a correlation's inner loop reads at constant steps: columns padded with
// zeros, split by residue of the stride (so that neighbouring outputs read neighbouring positions), rows in
// order. Rows are not padded: taps outside are skipped whole. Start at StagedInput.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/direct/cpu/geometry.hpp"
#include "algorithms/direct/cpu/kernels.hpp"
#include "bench/core/problem.hpp"

namespace convscope::direct {

// planar:  [row][residue][channel][column][image]
// blocked: [row][residue][channel block][column][image][kChannelBlock]
// The second is for channels-last tensors. Some images side by side let narrow rows fill a tile; a "pixel" is
// one (column, image).
struct StagedInput {
  struct Shape {
    int64_t channels = 0;
    int64_t images = 1;
    // Outputs of a row are rounded up to it, so that every read of whole vectors is defined.
    int64_t column_multiple = 1;
    bool blocked = false;
  };
  // Every step-th column from `residue` on, and where they meet the tensor.
  struct Residue {
    int64_t residue = 0;
    Range inside;               // staged columns that lie on the tensor
    int64_t source_column = 0;  // of the first of them
  };
  StagedInput() = default;
  StagedInput(const std::vector<Correlation>& correlations, const Shape& shape);

  std::vector<Residue>::const_iterator find(const Tap& tap) const;
  int64_t column_offset(const Tap& tap) const;
  int64_t elements() const { return rows * row_step; }

  Shape shape;
  int64_t rows = 0;    // of the read tensor
  int64_t extent = 0;  // its columns
  int64_t left = 0;    // zero columns in front
  int64_t step = 1;    // the correlations' column step
  int64_t width = 0;   // columns of one residue
  std::vector<bool> row_is_read;
  std::vector<Residue> residues;  // those that some tap reads
  int64_t row_step = 0, residue_step = 0, channel_step = 0;
  int64_t block_channels = 0, blocks = 0, block_step = 0;  // channels are summed block by block
  int64_t last_block_channels() const { return shape.channels - (blocks - 1) * block_channels; }
};

// Prefetches `columns` elements of each of `rows` rows that are `step` apart. Rows of different channels are
// pages apart, more of them than the hardware's prefetcher follows.
void prefetch_rows(const float* at, int64_t step, int64_t rows, int64_t columns);

// Zeroes the padding of one staged row at `to` that stage_row() does not write. It is the same for every row.
void clear_padding(const StagedInput& staged, float* to);

// Fills the rest of the row from `source`, which points at the row in the unit's first image and channel of a
// tensor with strides (n, c, h, w) `stride`.
void stage_row(const StagedInput& staged, const float* source, const std::array<int64_t, 4>& stride,
               float* to);

}  // namespace convscope::direct
