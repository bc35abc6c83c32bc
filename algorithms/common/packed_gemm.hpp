// The single-precision GEMM micro-kernel that Winograd and FFT share: C (=|+=|-=) A * B where B lies in the
// kernel's own panel order, so that transforms can write straight into it, and A in panels or in plain rows.
// Not a BLAS: no packing, no threads, no scaling. The instruction set is chosen at run time, once a call.
#pragma once

#include <cstdint>

namespace convscope {

// The panel sizes of the instruction set in use (AVX-512: 14x32; fixed for the process).
//   A panel: rows_per_panel rows of A, stored k-major:    a[k][rows_per_panel]      (broadcast side)
//   B panel: columns_per_panel columns, stored k-major:   b[k][columns_per_panel]   (vector side)
// A panel that is only partly used may hold anything finite or not in the unused part: those results are
// never stored.
struct GemmShape {
  int rows_per_panel = 0;
  int columns_per_panel = 0;
};
GemmShape gemm_shape();

enum class GemmMode { overwrite, add, subtract };

// How A lies: in panels, as rows a[row][k], or transposed a[k][row].
enum class AOrder { panels, rows, columns };

// One register block: C[rows x columns] (=|+=|-=) A panel * B panel over `depth`, C row-major with `c_stride`
// elements a row, rows <= rows_per_panel, columns <= columns_per_panel. b is 64-byte aligned.
void gemm_block(const float* a, const float* b, float* c, int64_t c_stride, int64_t rows, int64_t columns,
                int64_t depth, GemmMode mode);

// The whole product of `rows` x `columns` over `depth` from consecutive panels: A panel i is at
// a + i * rows_per_panel * depth, B panel j at b + j * columns_per_panel * depth. Runs on the calling thread;
// loops so that one B panel stays in L1 and the A panels in L2. Depth should fit (a few hundred); longer sums
// are split by the caller with GemmMode::add.
void gemm_packed(const float* a, const float* b, float* c, int64_t c_stride, int64_t rows, int64_t columns,
                 int64_t depth, GemmMode mode);

// The same with A as ordinary rows, a[row * a_stride + k].
void gemm_rows(const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows,
               int64_t columns, int64_t depth, GemmMode mode);

// The same with A transposed, a[k * a_stride + row]: the product of two k-major tensors.
void gemm_columns(const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows,
                  int64_t columns, int64_t depth, GemmMode mode);

}  // namespace convscope
