// gemm.hpp on top of OpenBLAS.
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <sstream>

#include "algorithms/common/rounding.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"

namespace convscope::im2col_gemm {
namespace {

// A smaller product is faster as one call per thread for a part of it than as one call for all threads.
constexpr double kSmallProduct = 2e7;
// Up to this depth the parts are rows, whatever the shape.
constexpr int64_t kShortSums = 64;
constexpr int64_t kLanes = 16;  // a part is a multiple of it
// Elements that do not fit in L2: a product of one row is then bound by memory, for which SGEMV is made.
constexpr int64_t kLargeMatrix = 1 << 18;

CBLAS_TRANSPOSE transposition(const Operand& operand) {
  return operand.transposed ? CblasTrans : CblasNoTrans;
}

// A single row, as of a fully-connected layer with a batch of 1: C^T = B^T A^T.
void run_vector(const MatrixProduct& p) {
  const auto lines = static_cast<blasint>(p.b.transposed ? p.columns : p.depth);
  const auto length = static_cast<blasint>(p.b.transposed ? p.depth : p.columns);
  cblas_sgemv(CblasRowMajor, p.b.transposed ? CblasNoTrans : CblasTrans, lines, length, 1.0F, p.b.data,
              static_cast<blasint>(p.b.stride), p.a.data,
              static_cast<blasint>(p.a.transposed ? p.a.stride : 1), p.accumulate ? 1.0F : 0.0F, p.c, 1);
}

void run(const MatrixProduct& p) {
  if (p.rows == 1 && p.columns * p.depth >= kLargeMatrix) return run_vector(p);
  cblas_sgemm(CblasRowMajor, transposition(p.a), transposition(p.b), static_cast<blasint>(p.rows),
              static_cast<blasint>(p.columns), static_cast<blasint>(p.depth), 1.0F, p.a.data,
              static_cast<blasint>(p.a.stride), p.b.data, static_cast<blasint>(p.b.stride),
              p.accumulate ? 1.0F : 0.0F, p.c, static_cast<blasint>(p.c_stride));
}

MatrixProduct some_rows(MatrixProduct part, int64_t begin, int64_t end) {
  part.rows = end - begin;
  part.a.data += part.a.transposed ? begin : begin * part.a.stride;
  part.c += begin * part.c_stride;
  return part;
}

MatrixProduct some_columns(MatrixProduct part, int64_t begin, int64_t end) {
  part.columns = end - begin;
  part.b.data += part.b.transposed ? begin * part.b.stride : begin;
  part.c += begin;
  return part;
}

void run_in_parts(const MatrixProduct& product) {
  const bool by_rows = product.rows >= product.columns || product.depth <= kShortSums;
  const int64_t count = by_rows ? product.rows : product.columns;
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const auto edge = [&](int64_t part) { return std::min(count, round_up(count * part / threads, kLanes)); };
    const int64_t begin = edge(thread), end = edge(thread + 1);
    if (begin < end) run(by_rows ? some_rows(product, begin, end) : some_columns(product, begin, end));
  }
}

class OpenBlas final : public Gemm {
 public:
  std::string name() const override { return openblas_get_corename(); }
  // It adds blocks of the depth to C; their depth, GEMM_Q, is 128 to 1024 (driver/level3/level3.c, param.h).
  SumLevels levels(const MatrixProduct& product, int64_t) const override {
    return {std::min<int64_t>(product.depth, 1024), ceil_div(product.depth, 128)};
  }
  bool takes_images() const override { return false; }
  int64_t scratch_bytes(int64_t) const override { return 0; }
  // Every size is below 2^31. OpenBLAS takes all OpenMP threads.
  void multiply(const MatrixProduct& product, int, float*, int64_t) const override {
    const double flops = 2.0 * static_cast<double>(product.rows) * static_cast<double>(product.columns) *
                         static_cast<double>(product.depth);
    if (omp_in_parallel() || omp_get_max_threads() == 1 || flops >= kSmallProduct)
      run(product);
    else
      run_in_parts(product);
  }
};

}  // namespace

std::string blas_version() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::istringstream config(openblas_get_config());
  std::string word, version;
  config >> word >> version;
  return version + (openblas_get_parallel() == OPENBLAS_OPENMP ? " OpenMP" : " other threading");
}

std::string blas_defect() {
  if (openblas_get_parallel() == OPENBLAS_OPENMP) return "";
  return "the OpenBLAS loaded is not its OpenMP build, so it does not run on the threads that are set and "
         "pinned here (Debian: apt install libopenblas-openmp-dev)";
}

const Gemm& openblas() {
  static const OpenBlas gemm;
  return gemm;
}

}  // namespace convscope::im2col_gemm
