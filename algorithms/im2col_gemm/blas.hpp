// The one routine of OpenBLAS that this folder needs. found/ implements it with the library, missing/
// without, and CMake picks one of them; nothing outside found/ includes cblas.h.
#pragma once

#include <cstdint>
#include <string>

namespace convscope::im2col_gemm {

// "0.3.21 OpenMP"; empty when OpenBLAS is missing.
std::string blas_version();
// The kernels that OpenBLAS chose for this processor, "SkylakeX".
std::string blas_kernels();
// Why OpenBLAS cannot be used here, or an empty string.
std::string blas_defect();

// A row-major operand; `stride` elements from row to row as it lies in memory, before it is transposed.
struct Operand {
  const float* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
};

// C = A * B (+ C when `accumulate`), C row-major of rows x columns, the sums over `depth`. Uses the OpenMP
// threads, or one thread when called inside a parallel region. Every size is below 2^31.
void multiply(int64_t rows, int64_t columns, int64_t depth, Operand a, Operand b, float* c, int64_t c_stride,
              bool accumulate);

}  // namespace convscope::im2col_gemm
