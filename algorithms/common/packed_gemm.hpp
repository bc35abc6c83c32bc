// The single-precision GEMM micro-kernel that Winograd, FFT and im2col share: C (=|+=|-=) A * B on the
// calling thread. B is in the kernel's own panel order, into which transforms can write directly, or in plain
// rows; A in plain rows or columns. Not a BLAS: no packing, no threads, no scaling. The instruction set is
// chosen at run time, once per call.
#pragma once

#include <cstdint>

namespace convscope {

// The register tile of the instruction set in use (AVX-512: 14x32; fixed for the process): up to
// rows_per_block rows of A, and B in panels of columns_per_panel columns, stored k-major:
// b[k][columns_per_panel]. The unused part of a panel may hold anything, finite or not: its results are never
// stored.
struct GemmShape {
  int rows_per_block = 0;
  int columns_per_panel = 0;
};
GemmShape gemm_shape();

// B in consecutive panels, or as the rows of a matrix, `stride` floats apart, of which nothing is read beyond
// the columns. Any alignment; whole cache lines are the fastest.
struct GemmPanels {
  const float* data = nullptr;
  int64_t stride = 0;  // 0: packed
};

enum class GemmMode { overwrite, add, subtract };

// What a product prefetches into L2: with each register tile one cache line per step of the depth, `step`
// floats apart, and with the next tile those `block` floats farther on; with 16 registers and B in rows, with
// the first tile of a panel alone. Any addresses: nothing is read.
struct Prefetch {
  const float* from = nullptr;  // null: the next panel, a share with each tile
  int64_t step = 0;             // 0, with `from`: it may be left out
  int64_t block = 16;
};
// Consecutive lines, for a product of this depth.
inline Prefetch prefetch_lines(const float* from, int64_t depth) {
  return {from, 16, 16 * depth};
}

// C[rows x columns] (=|+=|-=) A * B over `depth`: A as rows, a[row * a_stride + k]; B packed, panel j at
// b + j * columns_per_panel * depth, or in rows; C row-major, `c_stride` floats between rows. With a packed B
// one panel stays in L1 and A in L2: a depth of a few hundred fits. A B in rows should fit in L2: A is then
// read once, from wherever it is, and `prefetch` is ignored. The caller splits longer sums with
// GemmMode::add.
void gemm_rows(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
               int64_t columns, int64_t depth, GemmMode mode, Prefetch prefetch = {});

// The same with A transposed, a[k * a_stride + row]: the product of two k-major tensors. Panel by panel,
// whether B is packed or not. With `a_stride` 0 A is packed in ceil(rows / rows_per_block) register blocks,
// block n of them from row n * rows / blocks on: a[block][k][row of the block].
void gemm_columns(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
                  int64_t columns, int64_t depth, GemmMode mode, Prefetch prefetch = {});

}  // namespace convscope
