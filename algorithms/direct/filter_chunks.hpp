// How backward-filter walks a batch: its output rows in chunks that are staged and summed one after the
// other, and the chunks in slices that are summed apart. Only index arithmetic, no memory.
#pragma once

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

}  // namespace convscope::direct
