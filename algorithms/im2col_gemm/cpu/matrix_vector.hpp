// A matrix times a few vectors, as in a fully-connected layer with a small batch: SGEMV for several vectors
// at once. The matrix is read once, in place; the memory bandwidth is the bound.
#pragma once

#include <cstdint>

namespace convscope::im2col_gemm {

// The largest numbers of vectors for which this is faster than a blocked product: by the lines of a
// column-major matrix, by the rows of a row-major one.
inline constexpr int kMaxVectorsByLines = 4, kMaxVectorsByRows = 16;

// y_n = M * x_n (+ y_n when `accumulate`) for n < vectors. M has `rows` x `depth` elements, row-major or,
// `transposed`, column-major, `stride` elements from line to line. The elements of a vector are neighbours.
struct VectorProduct {
  int64_t rows = 0, depth = 0;
  int64_t vectors = 0;  // up to kMaxVectorsByLines where `transposed`
  const float* matrix = nullptr;
  int64_t stride = 0;
  bool transposed = false;
  const float* x = nullptr;
  int64_t x_step = 0;  // elements from vector to vector
  float* y = nullptr;
  int64_t y_step = 0;
  bool accumulate = false;
};

// Elements [begin, end) of every y, on the calling thread.
void multiply_vectors(const VectorProduct& product, int64_t begin, int64_t end);

}  // namespace convscope::im2col_gemm
