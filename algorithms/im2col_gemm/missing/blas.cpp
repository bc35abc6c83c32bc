// blas.hpp when the build found no OpenBLAS: the row is listed and refuses.
#include "algorithms/im2col_gemm/blas.hpp"

#include <stdexcept>

namespace convscope::im2col_gemm {

std::string blas_version() {
  return "";
}

std::string blas_kernels() {
  return "";
}

std::string blas_defect() {
  return "OpenBLAS was not found when this program was built (Debian: apt install libopenblas-openmp-dev, "
         "then "
         "configure again)";
}

void multiply(int64_t, int64_t, int64_t, Operand, Operand, float*, int64_t, bool) {
  throw std::runtime_error(blas_defect());
}

}  // namespace convscope::im2col_gemm
