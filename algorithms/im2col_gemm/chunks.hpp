// How a convolution is divided into GEMMs: some output rows of one image, or several whole images, at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::im2col_gemm {

// A filter that covers the whole image makes a fully-connected layer, which is a matrix product without
// columns: the same tensors as one pixel of C*R*S channels, where layouts do not differ. Other problems stay
// as they are.
ConvProblem as_fully_connected(const ConvProblem& problem);

struct Range {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

// The size of parts of nearly equal size: no more of them than there would be of `max` each.
constexpr int64_t evenly(int64_t whole, int64_t max) {
  return ceil_div(whole, ceil_div(whole, max));
}

// Output rows [row, row + rows) of images [image, image + images); more than one image only with all rows.
struct Chunk {
  int64_t image = 0, images = 1, row = 0, rows = 1;
};

// All of a problem, image by image, top to bottom, of so many images and rows, fewer at the ends.
std::vector<Chunk> list_of_chunks(const ConvProblem& problem, int64_t images, int64_t rows);

struct Chunks {
  std::vector<Chunk> list;
  int64_t pixels = 0;           // output pixels of the largest one
  int64_t per_image = 1;        // chunks of one image, 1 when a chunk has several images
  bool builds_columns = true;   // false: the input itself is the column matrix (pointwise)
  bool gathers_output = false;  // the output of a chunk is not one matrix in memory, so it is copied
};

// The input rows that a chunk of backward-data completes or adds to, [begin, end); those from `fresh` on are
// new, the others belong to earlier chunks of the image too.
struct InputRows {
  int64_t begin, fresh, end;
};
InputRows input_rows(const ConvProblem& problem, const Chunk& chunk);

// Elements of one column: one group's channels times the taps.
int64_t column_elements(const ConvProblem& problem);

// A column matrix of this size is written and read again from the cache.
inline constexpr int64_t kColumnBytes = int64_t{4} << 20;

// The column matrix of a chunk takes at most about `bytes`, and at least one output row. Pointwise
// convolutions have no column matrix: a chunk is the whole batch, but a single image in NCHW unless the
// product takes `images_apart`. Such a product needs no output gathered either.
Chunks cut(const ConvProblem& problem, int64_t bytes, bool images_apart);

// The largest number of rows, columns or elements between rows of any matrix of the chunks that kColumnBytes
// or less allow, without images apart.
int64_t largest_extent(const ConvProblem& problem);

}  // namespace convscope::im2col_gemm
