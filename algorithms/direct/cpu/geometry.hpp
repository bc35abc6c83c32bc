// Forward and backward-data as one operation: plain correlations of a read tensor with taps, one for forward
// and one for each residue of the stride for backward-data. Only index arithmetic, no memory. Start at
// correlations().
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/common/rounding.hpp"
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

// The one of the forward pass, which backward-filter walks as well; the problem's own pass is not looked at.
std::vector<Correlation> forward_correlations(ConvProblem problem);

// The outputs i of [0, count) for which i * step + offset falls into [0, extent).
Range outputs_inside(int64_t count, int64_t step, int64_t offset, int64_t extent);

// A pointwise convolution does not see rows: the same problem with the pixels of each image as `rows` rows, a
// divisor of their number. Tensors keep their memory order.
ConvProblem with_rows(const ConvProblem& problem, int64_t rows);

// Terms of the longest sum of the correlations over `channels` of the read tensor, padding left out.
int64_t longest_sum_of(const std::vector<Correlation>& correlations, int64_t channels);

// Splits `count` into ceil(count / most) parts that differ by at most one.
std::vector<Range> balanced_parts(int64_t count, int64_t most);

}  // namespace convscope::direct
