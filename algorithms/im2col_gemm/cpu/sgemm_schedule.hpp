// Which way our SGEMM takes a product: what it reads where it lies and what it packs, whether it computes the
// transpose of C instead, or a matrix times vectors, and what each thread does. The work is in
// packed_sgemm.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/im2col_gemm/cpu/gemm.hpp"
#include "algorithms/im2col_gemm/cpu/matrix_vector.hpp"

namespace convscope::im2col_gemm {

struct Interval {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

// The n-th of `parts` parts of [0, count), in whole units.
Interval part(int64_t count, int64_t parts, int64_t n, int64_t unit);

// The rows, columns and depth of a product that one thread computes.
struct Share {
  Interval rows, columns, depth;
};

// Columns in a vector.
int64_t lanes();

// Columns for which rows of A are read in place beside a B in place, at most.
inline constexpr int64_t kMostColumnsByRows = 392;  // eight images of 7x7

// Whether each image is a product by itself, whose B need not be packed; that saves about a seventh, unless
// the pixels fill their last vectors badly.
bool one_by_one(const MatrixProduct& product);

// Whether A or B is read where it lies: what the micro-kernel wants side by side is so in memory.
bool a_in_place(const MatrixProduct& product);
bool b_in_place(const MatrixProduct& product);

// Whether no operand is packed, as A is not read often: each of its rows goes through all columns at once.
bool by_rows(const MatrixProduct& product, int64_t columns);

// How many parts the rows, the columns and the depth are cut into.
struct Cut {
  int64_t rows = 1, columns = 1, depth = 1;
};

// The cut for `threads` threads whose largest share takes the least time, in multiply-adds of vectors. The
// depth is cut only where a C of at most `most_partial` elements is small beside the operands.
Cut cut_for_threads(const MatrixProduct& product, int64_t threads, int64_t most_partial);
Share share_of(const MatrixProduct& product, const Cut& cut, int64_t thread);

// The transpose of C as a product, its operands where they are, and whether that takes less time.
MatrixProduct exchanged(MatrixProduct product);
bool better_exchanged(const MatrixProduct& product);

// A product of few rows, each as a vector that meets B, if it is not better in blocks.
std::optional<VectorProduct> as_vectors(const MatrixProduct& product);

}  // namespace convscope::im2col_gemm
