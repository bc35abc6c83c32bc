// The few dense products that algorithms take from a library: cuBLAS on the GPU, plain loops in the emulator.
// Not a BLAS: row-major, f32, what convolutions need and nothing else. A .cu file calls make_blas(device) and
// gets the one of its own namespace.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/device/device.hpp"

namespace convscope {

enum class MatrixOp { none, transpose, conjugate_transpose };

// One operand in device memory: row-major as it is stored, `stride` elements from row to row, and from matrix
// to matrix `batch_stride` (0: all share one matrix). The operation applies to the stored matrix.
template <typename T>
struct Matrix {
  T* data = nullptr;
  int64_t stride = 0;
  int64_t batch_stride = 0;
  MatrixOp op = MatrixOp::none;
};

// C[i] = alpha * op(A[i]) * op(B[i]) + beta * C[i] for i < batch; C is rows x columns, the sums run over
// depth. With beta 0, C is not read. c.op is none. All sizes and strides are below 2^31.
template <typename T>
struct Product {
  int rows = 0, columns = 0, depth = 0;
  int batch = 1;
  Matrix<const T> a{}, b{};
  Matrix<T> c{};
  T alpha = T(1), beta = T(0);
};

// Work is enqueued; nothing is allocated by multiply(). Throws DeviceError. sgemm is a product of batch 1.
class Blas {
 public:
  virtual ~Blas() = default;
  virtual void multiply(const Product<float>&, Queue&) = 0;
  virtual void multiply(const Product<std::complex<float>>&, Queue&) = 0;
};

namespace cuda {
std::string blas_defect();                 // why cuBLAS cannot be used here, or an empty string
std::unique_ptr<Blas> make_blas(Device&);  // throws DeviceError when there is a defect
}  // namespace cuda
namespace emulated {
// Given a CUDA device, which a build without nvcc has on the stand-in for its runtime: that of cuda.
std::unique_ptr<Blas> make_blas(Device&);
}  // namespace emulated

}  // namespace convscope
