// Matrices transposed and rows copied in vector registers, the moves that packing and changes of layout are
// made of. Strides (steps) are floats. The instruction set is chosen at run time, once per call.
#pragma once

#include <cstdint>

namespace convscope {

// out[column * out_step + row] = in[row * in_step + column]. Writes nothing else; the two do not overlap.
void transpose(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows, int64_t columns);

// out[row * out_step + column] = in[row * in_step + column], for rows that are far apart in memory.
void copy_rows(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t rows, int64_t columns);

// A row that is written: zeros before and after what is copied.
struct PaddedRow {
  int64_t before = 0, columns = 0, after = 0;
};

// out[row * out_step + row_shape.before + column] = in[row * in_step + column * every], the rest of the
// padded row is zero. Reads nothing of `in` outside those rows.
void copy_strided_rows(const float* in, int64_t in_step, int64_t every, float* out, int64_t out_step,
                       int64_t rows, const PaddedRow& row_shape);

// out[row * out_step + column * every] = in[row * in_step + column], or += for the second. Elements between
// are not touched.
void spread_rows(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every, int64_t rows,
                 int64_t columns);
void add_spread_rows(const float* in, int64_t in_step, float* out, int64_t out_step, int64_t every,
                     int64_t rows, int64_t columns);

}  // namespace convscope
