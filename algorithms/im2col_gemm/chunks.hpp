// How a convolution is cut into GEMMs: some output rows of one image, or several whole images, at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope::im2col_gemm {

// Output rows [row, row + rows) of images [image, image + images); more than one image only with all rows.
struct Chunk {
  int64_t image = 0, images = 1, row = 0, rows = 1;
};

struct Chunks {
  std::vector<Chunk> list;      // image by image, top to bottom
  int64_t pixels = 0;           // output pixels of the largest one
  int64_t per_image = 1;        // chunks of one image, 1 when a chunk has several images
  bool builds_columns = true;   // false: the input itself is the column matrix (1x1, stride 1, no padding)
  bool gathers_output = false;  // the output of a chunk is not one matrix in memory, so it is copied
};

// Elements of one column: one group's channels times the taps.
int64_t column_elements(const ConvProblem& problem);

// The column matrix of a chunk takes at most about `bytes`, and at least one output row.
Chunks cut(const ConvProblem& problem, int64_t bytes);

}  // namespace convscope::im2col_gemm
