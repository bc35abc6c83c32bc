// How backward-filter walks a batch: its output rows in chunks that are staged and summed one after the
// other, and the chunks in slices that are summed apart. Only index arithmetic, no memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/direct/geometry.hpp"

namespace convscope::direct {

// Output rows of one image, or several whole images. `input_rows` are those between the first and the last
// that some tap reads; some may lie outside the input.
struct Chunk {
  int64_t image = 0, images = 1;
  Range rows, input_rows;
};

// Of the forward correlation's rows.
Range input_rows_of(const Axis& axis, Range rows);

// [slice][chunk] over `images` of axis.count output rows. Slices differ by at most one row; a chunk has at
// most `chunk_rows`. Where that is more than an image has, chunks are whole images wherever one begins.
std::vector<std::vector<Chunk>> sliced_chunks(const Axis& axis, int64_t images, int64_t slices,
                                              int64_t chunk_rows);

// How a filter gradient is summed: chains of at most `first` terms, of which `second` are added one after the
// other.
struct SumLevels {
  int64_t first = 0, second = 0;
};

// Of some chunks, one after the other.
template <typename OfChunk>
SumLevels in_series(const std::vector<Chunk>& chunks, const OfChunk& levels_of) {
  SumLevels all;
  for (const Chunk& chunk : chunks) {
    const SumLevels one = levels_of(chunk);
    all = {std::max(all.first, one.first), all.second + one.second};
  }
  return all;
}

// Terms of the longest chain where the slices are added in their order.
template <typename OfChunk>
double longest_sum_of(const std::vector<std::vector<Chunk>>& slices, const OfChunk& levels_of) {
  int64_t longest = 0;
  for (const auto& chunks : slices) {
    const SumLevels levels = in_series(chunks, levels_of);
    longest = std::max(longest, levels.first + levels.second);
  }
  return static_cast<double>(longest + static_cast<int64_t>(slices.size()) - 1);
}

}  // namespace convscope::direct
