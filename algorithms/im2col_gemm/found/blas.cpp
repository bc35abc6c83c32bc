// blas.hpp on top of OpenBLAS.
#include "algorithms/im2col_gemm/blas.hpp"

#include <cblas.h>

#include <sstream>

namespace convscope::im2col_gemm {
namespace {

CBLAS_TRANSPOSE transposition(const Operand& operand) {
  return operand.transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

std::string blas_version() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::istringstream config(openblas_get_config());
  std::string word, version;
  config >> word >> version;
  return version + (openblas_get_parallel() == OPENBLAS_OPENMP ? " OpenMP" : " other threading");
}

std::string blas_kernels() {
  return openblas_get_corename();
}

std::string blas_defect() {
  if (openblas_get_parallel() == OPENBLAS_OPENMP) return "";
  return "the OpenBLAS loaded is not its OpenMP build, so it does not run on the threads that are set and "
         "pinned here (Debian: apt install libopenblas-openmp-dev)";
}

void multiply(int64_t rows, int64_t columns, int64_t depth, Operand a, Operand b, float* c, int64_t c_stride,
              bool accumulate) {
  cblas_sgemm(CblasRowMajor, transposition(a), transposition(b), static_cast<blasint>(rows),
              static_cast<blasint>(columns), static_cast<blasint>(depth), 1.0F, a.data,
              static_cast<blasint>(a.stride), b.data, static_cast<blasint>(b.stride),
              accumulate ? 1.0F : 0.0F, c, static_cast<blasint>(c_stride));
}

}  // namespace convscope::im2col_gemm
