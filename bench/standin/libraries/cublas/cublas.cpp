// The functions of cuBLAS that the program opens: strided batched products in f32 and complex f32, by loops
// with sums in f64. Arguments are checked as cuBLAS's reference says of cublas<t>gemmStridedBatched.
#include <cublas_v2.h>

#include <algorithm>
#include <array>
#include <complex>

#include "bench/standin/libraries/runtime.hpp"
#include "bench/standin/libraries/script.hpp"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace convscope::standin {
namespace {

// One product, of matrices stored by columns: C[i] = alpha * op(A[i]) * op(B[i]) + beta * C[i].
template <typename T>
struct Gemm {
  cublasOperation_t op_a, op_b;
  int m, n, k;
  T alpha;
  const T* a;
  int a_stride;
  long long a_batch;
  const T* b;
  int b_stride;
  long long b_batch;
  T beta;
  T* c;
  int c_stride;
  long long c_batch;
  int batch;
};

bool is_operation(cublasOperation_t op) {
  return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

template <typename T>
bool is_valid(const Gemm<T>& g) {
  return is_operation(g.op_a) && is_operation(g.op_b) && g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0 &&
         g.a_stride >= std::max(1, g.op_a == CUBLAS_OP_N ? g.m : g.k) &&
         g.b_stride >= std::max(1, g.op_b == CUBLAS_OP_N ? g.k : g.n) && g.c_stride >= std::max(1, g.m);
}

std::complex<double> wide(float value) {
  return value;
}
std::complex<double> wide(std::complex<float> value) {
  return value;
}
void narrow(std::complex<double> value, float& to) {
  to = static_cast<float>(value.real());
}
void narrow(std::complex<double> value, std::complex<float>& to) {
  to = std::complex<float>(value);
}

// Element (row, column) of op(matrix).
template <typename T>
std::complex<double> element(cublasOperation_t op, const T* matrix, int stride, int row, int column) {
  if (op == CUBLAS_OP_N) return wide(matrix[row + int64_t{column} * stride]);
  const std::complex<double> value = wide(matrix[column + int64_t{row} * stride]);
  return op == CUBLAS_OP_C ? std::conj(value) : value;
}

template <typename T>
void compute(const Gemm<T>& g) {
  for (int64_t i = 0; i < g.batch; ++i)
    for (int column = 0; column < g.n; ++column)
      for (int row = 0; row < g.m; ++row) {
        std::complex<double> sum = 0;
        for (int depth = 0; depth < g.k; ++depth)
          sum += element(g.op_a, g.a + i * g.a_batch, g.a_stride, row, depth) *
                 element(g.op_b, g.b + i * g.b_batch, g.b_stride, depth, column);
        T& to = g.c[i * g.c_batch + row + int64_t{column} * g.c_stride];
        std::complex<double> value = wide(g.alpha) * sum;
        if (g.beta != T(0)) value += wide(g.beta) * wide(to);
        narrow(value, to);
      }
}

template <typename T>
cublasStatus_t multiply(cublasHandle_t handle, const Gemm<T>& gemm) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_valid(gemm)) return CUBLAS_STATUS_INVALID_VALUE;
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (gemm.a == nullptr || gemm.b == nullptr || gemm.c == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  // There are kernels of their own for each way of storing the operands.
  static const std::array<char, 9> kernels{};
  load_kernels(&kernels[static_cast<size_t>(3 * gemm.op_a + gemm.op_b)]);
  const cudaError_t code = enqueue(handle->stream, [gemm] { compute(gemm); });
  return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

std::complex<float> complex_of(const cuComplex& value) {
  return {value.x, value.y};
}
const std::complex<float>* complex_at(const cuComplex* data) {
  return reinterpret_cast<const std::complex<float>*>(data);
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (const Fault fault = enter("cublasCreate_v2")) return static_cast<cublasStatus_t>(fault.status);
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (device_error() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (const Fault fault = enter("cublasSetStream_v2")) return static_cast<cublasStatus_t>(fault.status);
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType part, int* value) {
  if (value == nullptr || part < MAJOR_VERSION || part > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = version_part("cublas", part, {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH});
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed successfully";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value was passed";
    default:
      return "the operation failed";
  }
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k, const float* alpha,
                                         const float* a, int a_stride, long long a_batch, const float* b,
                                         int b_stride, long long b_batch, const float* beta, float* c,
                                         int c_stride, long long c_batch, int batch) {
  if (const Fault fault = enter("cublasSgemmStridedBatched"))
    return static_cast<cublasStatus_t>(fault.status);
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return multiply<float>(handle, {op_a, op_b, m, n, k, *alpha, a, a_stride, a_batch, b, b_stride, b_batch,
                                  *beta, c, c_stride, c_batch, batch});
}

cublasStatus_t cublasCgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k, const cuComplex* alpha,
                                         const cuComplex* a, int a_stride, long long a_batch,
                                         const cuComplex* b, int b_stride, long long b_batch,
                                         const cuComplex* beta, cuComplex* c, int c_stride, long long c_batch,
                                         int batch) {
  if (const Fault fault = enter("cublasCgemmStridedBatched"))
    return static_cast<cublasStatus_t>(fault.status);
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return multiply<std::complex<float>>(
      handle,
      {op_a, op_b, m, n, k, complex_of(*alpha), complex_at(a), a_stride, a_batch, complex_at(b), b_stride,
       b_batch, complex_of(*beta), reinterpret_cast<std::complex<float>*>(c), c_stride, c_batch, batch});
}

}  // extern "C"
