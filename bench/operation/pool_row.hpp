// What pooling on the CPU has apart from pool.cpp and mean_pool.cpp, as Highway includes those once for each
// instruction set: a range of rows, and scratch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "bench/core/operation_problem.hpp"

namespace convscope {

struct RowRange {
  int64_t first, end;
  int64_t count() const { return end - first; }
};

// Rows of the image that row p of the windows covers.
inline RowRange rows_of_windows(const Activations& in, const LayerOperation& pool, int64_t p) {
  const int64_t begin = p * pool.stride.h - pool.pad.h;
  return {std::max<int64_t>(0, begin), std::min(in.h, begin + pool.window.h)};
}

// Rows of windows that cover row h of the image: none where strides are longer than windows.
inline RowRange windows_of_row(const LayerOperation& pool, int64_t h, int64_t out_h) {
  const int64_t below = h + pool.pad.h;
  const int64_t first = below < pool.window.h ? 0 : (below - pool.window.h) / pool.stride.h + 1;
  return {first, std::max(first, std::min(below / pool.stride.h + 1, out_h))};
}

// Of max pooling: a row with the padding on both sides, and room for a vector behind it. Padding has a place
// inside the image, so that a place is valid whatever the values are, NaN included.
struct PoolRow {
  PoolRow(int64_t width, int64_t pad)
      : value(static_cast<size_t>(width + 2 * pad + kRoom), -std::numeric_limits<float>::infinity()),
        place(value.size()) {}
  static constexpr int64_t kRoom = 64;
  std::vector<float> value;
  std::vector<int32_t> place;
};

// Of mean pooling, for one thread, with so many rows between zeros.
struct MeanRows {
  MeanRows(const Activations& in, const LayerOperation& pool, int64_t rows)
      : cells_h(cells_of_windows(in.h, pool.window.h, pool.stride.h, pool.pad.h, pool.counts_padding)),
        cells_w(cells_of_windows(in.w, pool.window.w, pool.stride.w, pool.pad.w, pool.counts_padding)),
        weights(std::max(cells_h.size(), static_cast<size_t>(pool.window.h)), 1.0F),
        pitch(in.w + 2 * (pool.pad.w + pool.window.w)),
        padded(static_cast<size_t>(rows * pitch)),
        sums(static_cast<size_t>(pitch)) {}

  // How many cells along an axis the mean of each window is over.
  static std::vector<float> cells_of_windows(int64_t size, int64_t window, int64_t stride, int64_t pad,
                                             bool counts_padding) {
    std::vector<float> cells;
    for (int64_t begin = -pad; begin + window <= size + pad; begin += stride) {
      const int64_t inside = std::min(size, begin + window) - std::max<int64_t>(0, begin);
      cells.push_back(static_cast<float>(counts_padding ? window : inside));
    }
    return cells;
  }

  std::vector<float> cells_h, cells_w;
  std::vector<float> weights;       // of the rows that are summed
  int64_t pitch;                    // values of a row with its zeros
  std::vector<float> padded, sums;  // rows between zeros, and one without
};

}  // namespace convscope
