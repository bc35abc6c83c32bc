// The schedule of a product in our SGEMM: which operands it reads in place and which it packs, whether it
// computes the transpose of C instead or a matrix times vectors, and what each thread does. Decided from
// sizes alone, before any element is read; packed_sgemm.cpp does the work.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/im2col_gemm/chunks.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"
#include "algorithms/im2col_gemm/cpu/matrix_vector.hpp"

namespace convscope::im2col_gemm {

// The n-th of `parts` parts of [0, count), in whole units.
Range part(int64_t count, int64_t parts, int64_t n, int64_t unit);

// The rows, columns and depth of a product that one thread computes.
struct Share {
  Range rows, columns, depth;
};

// Columns in a vector.
int64_t lanes();

// Whether a panel of B is one cache line wide, as where there are 16 registers (AVX2), and not two. Such a
// panel leaves half of L1 free and is best multiplied with all rows before the next; its rows in place are a
// page and a line each, so that B is packed unless few rows are multiplied with it and the depth is not
// small. A register tile has six rows there, so that a transposed A in place is a line for every six
// elements: it is packed unless its depth is small.
bool has_narrow_panels();

// The largest number of columns for which rows of A and B are both read in place.
int64_t max_columns_by_rows();

// Whether each image is a product by itself, whose B need not be packed: profitable unless the last vectors
// of the images' pixels are badly filled.
bool one_by_one(const MatrixProduct& product);

// Whether A or B is read in place: what the micro-kernel reads as neighbours are neighbours in memory, and
// packing is not profitable.
bool a_in_place(const MatrixProduct& product);
bool b_in_place(const MatrixProduct& product);

// Whether no operand is packed, as A is read once only: each of its rows is multiplied with all columns in
// turn.
bool by_rows(const MatrixProduct& product, int64_t columns);

// The number of parts of the rows, the columns and the depth; each thread computes one product of parts.
struct Split {
  int64_t rows = 1, columns = 1, depth = 1;
};

// The split for `threads` threads whose largest share takes the least time, by an estimate in multiply-adds
// of vectors. The depth is split only where C has at most `max_partial` elements and is small beside the
// operands.
Split split_for_threads(const MatrixProduct& product, int64_t threads, int64_t max_partial);
Share share_of(const MatrixProduct& product, const Split& split, int64_t thread);

// The product whose result is the transpose of C, with the same operands, and whether that takes less time.
MatrixProduct exchanged(MatrixProduct product);
bool better_exchanged(const MatrixProduct& product);

// What the micro-kernels execute for a product that this many threads share: unused lanes of the last vectors
// included.
double executed_flops(const MatrixProduct& product, int64_t threads);

// A product of few rows as B times that many vectors; nothing where the blocked product is faster.
std::optional<VectorProduct> as_vectors(const MatrixProduct& product);

}  // namespace convscope::im2col_gemm
