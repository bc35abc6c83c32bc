// The matrix product that the plan calls, OpenBLAS's or ours, behind one interface: MatrixProduct, Gemm.
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/common/sum_levels.hpp"

namespace convscope::im2col_gemm {

// A row-major operand; `stride` elements between rows in memory, before it is transposed.
struct Operand {
  const float* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
  int64_t image_step = 0;  // elements from image to image, see Images
};

// One index of a product may run over the pixels of images that are apart in memory: i is pixel i % pixels of
// image i / pixels, and pixels are neighbours.
enum class Images { together, in_columns, in_depth };

// C = A * B (+ C when `accumulate`), C row-major of rows x columns, the sums over `depth`.
struct MatrixProduct {
  int64_t rows = 0, columns = 0, depth = 0;
  Operand a, b;
  float* c = nullptr;
  int64_t c_stride = 0;
  bool accumulate = false;
  Images images = Images::together;
  int64_t image_pixels = 0;
  int64_t c_image_step = 0;
};

class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual std::string name() const = 0;
  // How a product sums on one thread, with so many bytes of scratch; operands' addresses do not matter.
  virtual SumLevels levels(const MatrixProduct& product, int64_t scratch_bytes) const = 0;
  // What multiply() executes on `threads` threads, unused lanes of vectors included; of a library nothing but
  // the size of the product is known.
  virtual double executed_flops(const MatrixProduct& product, int /*threads*/) const {
    return 2.0 * static_cast<double>(product.rows) * static_cast<double>(product.columns) *
           static_cast<double>(product.depth);
  }
  // Whether it takes products whose images are not together.
  virtual bool takes_images() const = 0;
  // Up to this many columns, to have the images of C in one matrix gains more than copying them apart costs.
  virtual int64_t max_columns_together() const { return 0; }
  // The scratch of one thread when `cap` bytes are available, a multiple of 64.
  virtual int64_t scratch_bytes(int64_t cap) const = 0;
  // Uses up to `threads` threads, or one when called inside a parallel region. `scratch` has `scratch_bytes`
  // for each of them.
  virtual void multiply(const MatrixProduct& product, int threads, float* scratch,
                        int64_t scratch_bytes) const = 0;
};

const Gemm& packed();

// OpenBLAS: backend/blas.cpp implements the rest with the library, unavailable/blas.cpp without, and CMake
// picks one. Nothing outside backend/ includes cblas.h.
const Gemm& openblas();      // throws where blas_defect() says why
std::string blas_version();  // "0.3.21 OpenMP"; empty when OpenBLAS is missing
std::string blas_defect();   // why OpenBLAS cannot be used here, or an empty string

}  // namespace convscope::im2col_gemm
