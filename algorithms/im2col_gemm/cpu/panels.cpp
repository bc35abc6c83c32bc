// See panels.hpp.
#include "algorithms/im2col_gemm/cpu/panels.hpp"

#include <cstddef>
#include <cstring>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/transpose.hpp"
#include "algorithms/im2col_gemm/cpu/sgemm_schedule.hpp"

namespace convscope::im2col_gemm {
namespace {

// Rows of a B with narrow panels that are copied to all of them before the next rows: a few streams, of
// neighbouring lines.
constexpr int64_t kNarrowRowsTogether = 4;
// Steps of the depth of a transposed A that are copied to one small register block before the next: what they
// write is whole lines, and what they read stays in L1 until the next block has read its part.
constexpr int64_t kNarrowStepsTogether = 16;

// Two copies of a fixed size, which may overlap, are faster than one of any.
template <int64_t Half>
void copy_halves(const float* from, int64_t count, float* to) {
  constexpr size_t kBytes = Half * sizeof(float);
  std::memcpy(to, from, kBytes);
  std::memcpy(to + count - Half, from + count - Half, kBytes);
}

// Of a register block, which has 4 to 16 rows but for the last products of few.
void copy_row(const float* from, int64_t count, float* to) {
  if (count >= 8 && count <= 16) return copy_halves<8>(from, count, to);
  if (count >= 4 && count < 8) return copy_halves<4>(from, count, to);
  std::copy_n(from, count, to);
}

// `count` columns of B, `depth` rows of them, from column `at` of the panels on.
void copy_to_panels(const float* from, int64_t stride, int64_t count, int64_t at, int64_t depth, float* to) {
  const int64_t panel = gemm_shape().columns_per_panel;
  const int64_t together = has_narrow_panels() ? kNarrowRowsTogether : depth;
  for (int64_t row = 0; row < depth; row += together)
    for (int64_t column = 0; column < count;) {
      const int64_t lane = (at + column) % panel, width = std::min(panel - lane, count - column);
      copy_rows(from + row * stride + column, stride, to + (at + column - lane) * depth + row * panel + lane,
                panel, std::min(together, depth - row), width);
      column += width;
    }
}

}  // namespace

int64_t row_blocks(int64_t rows) {
  return ceil_div(rows, int64_t{gemm_shape().rows_per_block});
}

RowBlock row_block(int64_t rows, int64_t blocks, int64_t n) {
  const int64_t begin = n * rows / blocks;
  return {begin, (n + 1) * rows / blocks - begin};
}

void pack_rows(const Operand& a, Range rows, Range depth, int64_t image_pixels, float* to) {
  const int64_t blocks = row_blocks(rows.count());
  const auto packed = [&](const RowBlock& block, int64_t step) {
    return to + block.begin * depth.count() + (step - depth.begin) * block.count;
  };
  if (a.transposed) {
    const int64_t together = has_narrow_panels() ? kNarrowStepsTogether : 1;
    for (int64_t first = depth.begin; first < depth.end; first += together)
      for (int64_t n = 0; n < blocks; ++n) {
        const RowBlock block = row_block(rows.count(), blocks, n);
        for (int64_t step = first; step < std::min(first + together, depth.end); ++step)
          copy_row(a.data + step * a.stride + rows.begin + block.begin, block.count, packed(block, step));
      }
    return;
  }
  for (int64_t n = 0; n < blocks; ++n) {
    const RowBlock block = row_block(rows.count(), blocks, n);
    for_each_stretch(depth.begin, depth.end, image_pixels, a.image_step,
                     [&](int64_t first, int64_t length, int64_t offset) {
                       transpose(a.data + (rows.begin + block.begin) * a.stride + offset, a.stride,
                                 packed(block, first), block.count, block.count, length);
                     });
  }
}

void pack_columns(const Operand& b, Range columns, Range depth, PixelsOf images, float* to) {
  const int64_t panel = gemm_shape().columns_per_panel;
  if (b.transposed) {
    for (int64_t c = columns.begin; c < columns.end; c += panel, to += depth.count() * panel)
      for_each_stretch(depth.begin, depth.end, images.depth, b.image_step,
                       [&](int64_t first, int64_t count, int64_t offset) {
                         transpose(b.data + c * b.stride + offset, b.stride,
                                   to + (first - depth.begin) * panel, panel,
                                   std::min(panel, columns.end - c), count);
                       });
    return;
  }
  for_each_stretch(columns.begin, columns.end, images.columns, b.image_step,
                   [&](int64_t first, int64_t count, int64_t offset) {
                     copy_to_panels(b.data + depth.begin * b.stride + offset, b.stride, count,
                                    first - columns.begin, depth.count(), to);
                   });
}

}  // namespace convscope::im2col_gemm
