// Data movement around the GEMM, for one group of one chunk: im2col, its adjoint col2im, and copying the
// output of several NCHW images to and from one matrix. Each is written over a range of independent rows so
// that threads can share it.
//   NCHW: columns[c r s][n p q], output[k][n p q]     NHWC: columns[n p q][r s c], output[n p q][k]
// Legend: n image, c input channel of the group, h w input, k output channel of the group, p q output, r s
// tap.
#pragma once

#include "algorithms/im2col_gemm/chunks.hpp"

namespace convscope::im2col_gemm {

struct Range {
  int64_t begin = 0, end = 0;
};

// What im2col writes: a row of the matrix (NCHW) or the columns of one output row (NHWC).
int64_t im2col_units(const ConvProblem& problem, const Chunk& chunk);
void im2col(const ConvProblem& problem, const Chunk& chunk, int64_t group, const float* input, float* columns,
            Range units);

// Gather form: each input row (of one channel in NCHW) collects what the chunk's columns add to it, so the
// order of every sum is fixed. Rows that an earlier chunk of the image has written are added to, others are
// set; the chunks of one image therefore come in order, and after the last one the image is complete.
int64_t col2im_units(const ConvProblem& problem, const Chunk& chunk);
void col2im(const ConvProblem& problem, const Chunk& chunk, int64_t group, const float* columns, float* input,
            Range units);

// NCHW only; a unit is an output channel of the group.
void gather_output(const ConvProblem& problem, const Chunk& chunk, int64_t group, const float* output,
                   float* matrix, Range units);
void scatter_output(const ConvProblem& problem, const Chunk& chunk, int64_t group, const float* matrix,
                    float* output, Range units);

}  // namespace convscope::im2col_gemm
