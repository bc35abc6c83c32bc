// gemm.hpp when the build found no OpenBLAS: its variant is listed and refuses.
#include <stdexcept>

#include "algorithms/im2col_gemm/cpu/gemm.hpp"

namespace convscope::im2col_gemm {

std::string blas_version() {
  return "";
}

std::string blas_defect() {
  return "OpenBLAS was not found when this program was built (Debian: apt install libopenblas-openmp-dev, "
         "then configure again)";
}

const Gemm& openblas() {
  throw std::runtime_error(blas_defect());
}

}  // namespace convscope::im2col_gemm
