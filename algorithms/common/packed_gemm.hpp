// The single-precision GEMM micro-kernel that Winograd, FFT and im2col share: C (=|+=|-=) A * B where B lies
// in the kernel's own panel order, so that transforms can write straight into it, or in plain rows, and A in
// plain rows or columns. Not a BLAS: no packing, no threads, no scaling. The instruction set is chosen at run
// time, once a call.
#pragma once

#include <cstdint>

namespace convscope {

// The register block of the instruction set in use (AVX-512: 14x32; fixed for the process): up to
// rows_per_block rows of A at a time, and B in panels of columns_per_panel columns, stored k-major:
// b[k][columns_per_panel]. A panel that is only partly used may hold anything, finite or not, in the unused
// part: those results are never stored.
struct GemmShape {
  int rows_per_block = 0;
  int columns_per_panel = 0;
};
GemmShape gemm_shape();

// Where B lies: in panels one behind the other, or as the rows of a matrix, `stride` floats apart. Of a
// matrix nothing is read beyond its columns. Any alignment will do; whole lines are the fastest.
struct GemmPanels {
  const float* data = nullptr;
  int64_t stride = 0;  // 0: packed
};

enum class GemmMode { overwrite, add, subtract };

// What a product fetches into the second cache meanwhile: with each register block one line a step of the
// depth, `step` floats apart, and with the next block those `block` floats farther on. Any addresses; nothing
// is read.
struct Ahead {
  const float* from = nullptr;  // null: the next panel, shared by the blocks
  int64_t step = 0;
  int64_t block = 16;
};
// Lines one behind the other, for a product of this depth.
inline Ahead lines_ahead(const float* from, int64_t depth) {
  return {from, 16, 16 * depth};
}

// C[rows x columns] (=|+=|-=) A * B over `depth`: A as ordinary rows, a[row * a_stride + k]; B packed, panel
// j at b + j * columns_per_panel * depth, or not; C row-major with `c_stride` elements a row. Runs on the
// calling thread. Loops so that one packed B panel stays in L1 and A in L2: a depth of a few hundred fits. A
// B in rows should fit into L2, then A is read once, from wherever it is, and `ahead` is not looked at.
// Longer sums are split by the caller with GemmMode::add.
void gemm_rows(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
               int64_t columns, int64_t depth, GemmMode mode, Ahead ahead = {});

// The same with A transposed, a[k * a_stride + row]: the product of two k-major tensors. Panel by panel,
// however B lies.
void gemm_columns(const float* a, int64_t a_stride, GemmPanels b, float* c, int64_t c_stride, int64_t rows,
                  int64_t columns, int64_t depth, GemmMode mode, Ahead ahead = {});

}  // namespace convscope
