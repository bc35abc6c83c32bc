// blas.hpp on top of OpenBLAS.
#include "algorithms/im2col_gemm/blas.hpp"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <sstream>

#include "algorithms/common/rounding.hpp"

namespace convscope::im2col_gemm {
namespace {

// With fewer operations than this, a part of the product for each thread is faster than one call for all.
constexpr double kSmallProduct = 2e7;
// Parts of such a product are rows where the sums are at most so long, whatever the shape.
constexpr int64_t kShortSums = 64;
constexpr int64_t kLanes = 16;  // a part is a multiple of it

CBLAS_TRANSPOSE transposition(const Operand& operand) {
  return operand.transposed ? CblasTrans : CblasNoTrans;
}

struct Product {
  int64_t rows = 0, columns = 0, depth = 0;
  Operand a, b;
  float* c = nullptr;
  int64_t c_stride = 0;
  bool accumulate = false;

  void run() const {
    cblas_sgemm(CblasRowMajor, transposition(a), transposition(b), static_cast<blasint>(rows),
                static_cast<blasint>(columns), static_cast<blasint>(depth), 1.0F, a.data,
                static_cast<blasint>(a.stride), b.data, static_cast<blasint>(b.stride),
                accumulate ? 1.0F : 0.0F, c, static_cast<blasint>(c_stride));
  }
  Product some_rows(int64_t begin, int64_t end) const {
    Product part = *this;
    part.rows = end - begin;
    part.a.data = a.data + (a.transposed ? begin : begin * a.stride);
    part.c += begin * c_stride;
    return part;
  }
  Product some_columns(int64_t begin, int64_t end) const {
    Product part = *this;
    part.columns = end - begin;
    part.b.data = b.data + (b.transposed ? begin * b.stride : begin);
    part.c += begin;
    return part;
  }
};

void run_in_parts(const Product& product) {
  const bool by_rows = product.rows >= product.columns || product.depth <= kShortSums;
  const int64_t count = by_rows ? product.rows : product.columns;
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const auto edge = [&](int64_t part) { return std::min(count, round_up(count * part / threads, kLanes)); };
    const int64_t begin = edge(thread), end = edge(thread + 1);
    if (begin < end) (by_rows ? product.some_rows(begin, end) : product.some_columns(begin, end)).run();
  }
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
  const Product product{rows, columns, depth, a, b, c, c_stride, accumulate};
  const double flops =
      2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  if (omp_in_parallel() || omp_get_max_threads() == 1 || flops >= kSmallProduct)
    product.run();
  else
    run_in_parts(product);
}

}  // namespace convscope::im2col_gemm
