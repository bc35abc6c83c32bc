// Blas of the emulator: plain loops with sums in double. Checks what a library would read and write.
#include "bench/device/blas.hpp"

#include <type_traits>
#include <vector>

#include "bench/device/device_error.hpp"
#include "bench/emulator/emulator_queue.hpp"

namespace convscope::emulated {
namespace {

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, std::complex<double>>;

template <typename T>
Wide<T> element(const Matrix<const T>& matrix, int64_t image, int64_t row, int64_t column) {
  const T* from = matrix.data + image * matrix.batch_stride;
  if (matrix.op == MatrixOp::none) return Wide<T>(from[row * matrix.stride + column]);
  const Wide<T> value(from[column * matrix.stride + row]);
  if constexpr (!std::is_same_v<T, float>)
    if (matrix.op == MatrixOp::conjugate_transpose) return std::conj(value);
  return value;
}

// One row of C for each column of B: B is read along its rows.
template <typename T>
void multiply_rows(const Product<T>& product) {
  std::vector<Wide<T>> sums(static_cast<size_t>(product.columns));
  for (int64_t image = 0; image < product.batch; ++image)
    for (int64_t row = 0; row < product.rows; ++row) {
      sums.assign(sums.size(), Wide<T>(0));
      for (int64_t k = 0; k < product.depth; ++k) {
        const Wide<T> a = element(product.a, image, row, k);
        for (int64_t column = 0; column < product.columns; ++column)
          sums[static_cast<size_t>(column)] += a * element(product.b, image, k, column);
      }
      T* to = product.c.data + image * product.c.batch_stride + row * product.c.stride;
      for (int64_t column = 0; column < product.columns; ++column, ++to) {
        const Wide<T> old = product.beta == T(0) ? Wide<T>(0) : Wide<T>(product.beta) * Wide<T>(*to);
        *to = T(Wide<T>(product.alpha) * sums[static_cast<size_t>(column)] + old);
      }
    }
}

template <typename T>
void check_operand(const DeviceMemory& memory, const char* name, const Matrix<T>& matrix, int rows,
                   int columns, int batch) {
  const int64_t stored_rows = matrix.op == MatrixOp::none ? rows : columns;
  const int64_t stored_columns = matrix.op == MatrixOp::none ? columns : rows;
  const int64_t elements =
      (batch - 1) * matrix.batch_stride + (stored_rows - 1) * matrix.stride + stored_columns;
  if (matrix.stride < stored_columns)
    throw DeviceError(std::string("blas: the stride of ") + name + " is less than a row");
  if (!memory.contains(matrix.data, static_cast<size_t>(elements) * sizeof(T)))
    throw DeviceError(std::string("blas: ") + name + " reaches outside its device memory");
}

template <typename T>
void multiply_checked(const Product<T>& product, Queue& queue) {
  EmulatorQueue& own = EmulatorQueue::of(queue, "blas");
  DeviceMemory& memory = own.memory();
  if (product.rows <= 0 || product.columns <= 0 || product.batch <= 0) return;
  if (product.c.op != MatrixOp::none) throw DeviceError("blas: C cannot be transposed");
  if (product.depth > 0) {
    check_operand(memory, "A", product.a, product.rows, product.depth, product.batch);
    check_operand(memory, "B", product.b, product.depth, product.columns, product.batch);
  }
  check_operand(memory, "C", product.c, product.rows, product.columns, product.batch);
  if (!own.computes("blas")) return;
  const DeviceMemory::Access access(memory);
  multiply_rows(product);
}

class EmulatedBlas final : public Blas {
 public:
  void multiply(const Product<float>& product, Queue& queue) override { multiply_checked(product, queue); }
  void multiply(const Product<std::complex<float>>& product, Queue& queue) override {
    multiply_checked(product, queue);
  }
};

}  // namespace

std::unique_ptr<Blas> make_blas(Device& device) {
  if (device.info().kind == DeviceKind::cuda) return cuda::make_blas(device);
  return std::make_unique<EmulatedBlas>();
}

}  // namespace convscope::emulated
