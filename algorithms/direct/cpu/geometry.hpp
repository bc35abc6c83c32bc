// The index arithmetic of the CPU plans; no memory. Forward and backward-data are one operation: plain
// correlations of a read tensor with taps, one for forward and one for each residue of the stride for
// backward-data. Backward-filter runs over the forward correlation's output rows, in chunks. Start at
// correlations() and at sliced_chunks().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/common/rounding.hpp"
#include "algorithms/common/sum_levels.hpp"
#include "bench/core/problem.hpp"

namespace convscope::direct {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
};

// `index` is the row or column of the filter; at output i the tap reads input i * step + offset.
struct Tap {
  int64_t index = 0;
  int64_t offset = 0;
};

// One dimension of a correlation: output i of `count` is written at out_start + i * out_step of the written
// tensor and reads i * step + offset of the `extent` positions of the read tensor, for every tap that falls
// inside. Taps are in the filter's order, so that offsets rise (forward) or fall (backward-data); taps that
// never fall inside are left out.
struct Axis {
  int64_t count = 0, step = 1, extent = 0;
  int64_t out_start = 0, out_step = 1;
  std::vector<Tap> taps;

  // The taps that fall inside for some output of [begin, end): always consecutive ones.
  Range taps_inside(int64_t begin, int64_t end) const;
  // Pairs of an output and a tap that falls inside.
  int64_t taps_inside_all() const;
};

struct Correlation {
  Axis rows, columns;
};

// For Pass::forward and Pass::backward_data.
std::vector<Correlation> correlations(const ConvProblem& problem);

// That of the forward pass, whatever the problem's own pass; backward-filter uses it as well.
Correlation forward_correlation(ConvProblem problem);

// The outputs i of [0, count) for which i * step + offset falls into [0, extent).
Range outputs_inside(int64_t count, int64_t step, int64_t offset, int64_t extent);

// The rows that one correlation writes in the `index`-th of `bands` equal bands, and those that all of them
// read for that, from the first to the last that some tap reads; some may lie outside.
Range written_in_band(const Axis& rows, int64_t index, int64_t bands);
Range read_in_band(const std::vector<Correlation>& correlations, int64_t index, int64_t bands);

// The same pointwise problem with the pixels of each image as `rows` rows, a divisor of their number. The
// result does not depend on where rows end, and tensors keep their memory order.
ConvProblem with_rows(const ConvProblem& problem, int64_t rows);

// Terms of the longest sum of the correlations over `channels` of the read tensor, padding left out.
int64_t longest_sum_of(const std::vector<Correlation>& correlations, int64_t channels);

// Splits `count` into ceil(count / max_size) parts that differ by at most one.
std::vector<Range> balanced_parts(int64_t count, int64_t max_size);

// Some output rows of one image, or all of several images: what backward-filter stages and sums at once.
// `input_rows` are those between the first and the last that some tap reads; some may lie outside the input.
struct Chunk {
  int64_t image = 0, images = 1;
  Range rows, input_rows;
};

// Of the forward correlation's rows.
Range input_rows_of(const Axis& axis, Range rows);

// [slice][chunk] over `images` of axis.count output rows. Slices are summed apart and differ by at most one
// row; a chunk has at most `max_rows`. Where that is more than an image has, chunks are whole images wherever
// one begins.
std::vector<std::vector<Chunk>> sliced_chunks(const Axis& axis, int64_t images, int64_t slices,
                                              int64_t max_rows);

// Terms of the longest chain where the slices are added in their order.
template <typename OfChunk>
double longest_sum_of(const std::vector<std::vector<Chunk>>& slices, const OfChunk& levels_of) {
  double longest = 0;
  for (const auto& chunks : slices) {
    SumLevels levels;
    for (const Chunk& chunk : chunks) levels = in_series(levels, levels_of(chunk));
    longest = std::max(longest, levels.longest());
  }
  return longest + static_cast<double>(slices.size()) - 1;
}

}  // namespace convscope::direct
