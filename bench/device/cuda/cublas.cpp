// Blas by cuBLAS, which is loaded at run time. Its matrices are stored by columns: a matrix stored by rows is
// its transpose, so C^T = op(B)^T op(A)^T is what it is asked for. Its few types are declared here; they have
// been the same since CUDA 11.
#include <fmt/format.h>

#include <new>

#include "bench/device/blas.hpp"
#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

using Handle = void*;
constexpr int kSuccess = 0, kAllocationFailed = 3;
// Launches that one product takes, at most, in the queue of a held stream.
constexpr int kOperationsPerProduct = 4;

// cublas?gemmStridedBatched for T = float or std::complex<float>.
template <typename T>
using Gemm = int(Handle, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a, int a_stride,
                 long long a_batch_stride, const T* b, int b_stride, long long b_batch_stride, const T* beta,
                 T* c, int c_stride, long long c_batch_stride, int batch);

const SharedLibrary& library() {
  static const SharedLibrary loaded({"libcublas.so.13", "libcublas.so.12"}, "cublas");
  return loaded;
}

constexpr const char* kFunctions[] = {"cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2",
                                      "cublasSgemmStridedBatched", "cublasCgemmStridedBatched"};

// One of kFunctions.
template <typename Function>
Function* function(const char* name) {
  return library().function<Function>(name);
}

void check_status(int status, const char* call) {
  if (status == kSuccess) return;
  const auto words = library().function<const char*(int)>("cublasGetStatusString");
  const std::string message =
      fmt::format("{}: {}", call, words == nullptr ? "status " + std::to_string(status) : words(status));
  check_device_after(message);
  if (status == kAllocationFailed) throw std::bad_alloc();
  throw DeviceError(message);
}

int operation(MatrixOp op) {
  return op == MatrixOp::none ? 0 : op == MatrixOp::transpose ? 1 : 2;
}

class CuBlas final : public Blas {
 public:
  CuBlas()
      : destroy_(function<int(Handle)>("cublasDestroy_v2")),
        set_stream_(function<int(Handle, cudaStream_t)>("cublasSetStream_v2")),
        real_(function<Gemm<float>>("cublasSgemmStridedBatched")),
        complex_(function<Gemm<std::complex<float>>>("cublasCgemmStridedBatched")) {
    check_status(function<int(Handle*)>("cublasCreate_v2")(&handle_), "cublasCreate");
  }
  ~CuBlas() override { destroy_(handle_); }
  CuBlas(const CuBlas&) = delete;
  CuBlas& operator=(const CuBlas&) = delete;

  void multiply(const Product<float>& product, Queue& queue) override { enqueue(product, real_, queue); }
  void multiply(const Product<std::complex<float>>& product, Queue& queue) override {
    enqueue(product, complex_, queue);
  }

 private:
  template <typename T>
  void enqueue(const Product<T>& p, Gemm<T>* gemm, Queue& queue) {
    check_status(set_stream_(handle_, cuda_queue(queue).stream_for(kOperationsPerProduct)),
                 "cublasSetStream");
    check_status(
        gemm(handle_, operation(p.b.op), operation(p.a.op), p.columns, p.rows, p.depth, &p.alpha, p.b.data,
             static_cast<int>(p.b.stride), p.b.batch_stride, p.a.data, static_cast<int>(p.a.stride),
             p.a.batch_stride, &p.beta, p.c.data, static_cast<int>(p.c.stride), p.c.batch_stride, p.batch),
        "cublasGemmStridedBatched");
  }

  int (*destroy_)(Handle);
  int (*set_stream_)(Handle, cudaStream_t);
  Gemm<float>* real_;
  Gemm<std::complex<float>>* complex_;
  Handle handle_ = nullptr;
};

}  // namespace

std::string blas_defect() {
  static const std::string found =
      defect(library(), {"cuBLAS", "cuBLAS 12 or 13", "cublasGetProperty", kFunctions});
  return found;
}

std::unique_ptr<Blas> make_blas(Device&) {
  if (const std::string defect = blas_defect(); !defect.empty()) throw DeviceError("no cuBLAS: " + defect);
  return std::make_unique<CuBlas>();
}

}  // namespace convscope::cuda
