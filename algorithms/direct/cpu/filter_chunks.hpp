// How backward-filter walks a batch: its output rows in chunks that are staged and summed one after the
// other, and the chunks in slices that are summed apart. Only index arithmetic, no memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/common/sum_levels.hpp"
#include "algorithms/direct/cpu/geometry.hpp"

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
