// Operands packed for the micro-kernel of algorithms/common/packed_gemm: rows of A in register blocks,
// columns of B in panels. Either operand may be transposed, and one index may run over images that are apart
// in memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/im2col_gemm/chunks.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"

namespace convscope::im2col_gemm {

// Calls body(first, count, offset) for each stretch of [begin, end) within one image; `offset` is that of its
// first pixel, in elements.
template <typename Body>
void for_each_stretch(int64_t begin, int64_t end, int64_t image_pixels, int64_t image_step,
                      const Body& body) {
  if (image_pixels == 0) return body(begin, end - begin, begin);
  while (begin < end) {
    const int64_t image = begin / image_pixels, last = std::min(end, (image + 1) * image_pixels);
    body(begin, last - begin, image * image_step + begin % image_pixels);
    begin = last;
  }
}

// Rows that one call of the micro-kernel computes, counted from the first row of A that is packed with them.
struct RowBlock {
  int64_t begin, count;
};
// The fewest register blocks of `rows` rows, and the n-th of `blocks`, to which the rows are dealt out
// evenly.
int64_t row_blocks(int64_t rows);
RowBlock row_block(int64_t rows, int64_t blocks, int64_t n);

// to[register block][depth][row]. `image_pixels`: of the depth, 0 where it runs over one matrix.
void pack_rows(const Operand& a, Range rows, Range depth, int64_t image_pixels, float* to);

// The pixels of an image that the columns or the depth of B run over, 0 where they run over one matrix.
struct PixelsOf {
  int64_t columns, depth;
};
// to[panel][depth][column]
void pack_columns(const Operand& b, Range columns, Range depth, PixelsOf images, float* to);

}  // namespace convscope::im2col_gemm
