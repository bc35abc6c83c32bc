// What this folder asks of OpenBLAS beside the product. backend/ implements it and openblas() with the
// library, unavailable/ without, and CMake picks one of them; nothing outside backend/ includes cblas.h.
#pragma once

#include <string>

namespace convscope::im2col_gemm {

// "0.3.21 OpenMP"; empty when OpenBLAS is missing.
std::string blas_version();
// Why OpenBLAS cannot be used here, or an empty string.
std::string blas_defect();

}  // namespace convscope::im2col_gemm
