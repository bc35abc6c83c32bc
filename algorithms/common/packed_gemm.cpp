#include "algorithms/common/packed_gemm.hpp"

#include <algorithm>

namespace convscope {

GemmShape gemm_shape() {
  return {8, 32};
}

void gemm_block(const float* a, const float* b, float* c, int64_t c_stride, int64_t rows, int64_t columns,
                int64_t depth, GemmMode mode) {
  const GemmShape shape = gemm_shape();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += a[k * shape.rows_per_panel + i] * b[k * shape.columns_per_panel + j];
      float& to = c[i * c_stride + j];
      to = mode == GemmMode::overwrite ? sum : mode == GemmMode::add ? to + sum : to - sum;
    }
}

void gemm_packed(const float* a, const float* b, float* c, int64_t c_stride, int64_t rows, int64_t columns,
                 int64_t depth, GemmMode mode) {
  const auto [mr, nr] = gemm_shape();
  for (int64_t j = 0; j < columns; j += nr)
    for (int64_t i = 0; i < rows; i += mr)
      gemm_block(a + i * depth, b + j * depth, c + i * c_stride + j, c_stride,
                 std::min<int64_t>(mr, rows - i), std::min<int64_t>(nr, columns - j), depth, mode);
}

}  // namespace convscope
