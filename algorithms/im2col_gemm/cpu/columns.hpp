// Data movement around the GEMM, for one group of one chunk: im2col, its adjoint col2im, and copying the
// output of several NCHW images to and from one matrix. Each is written over a range of independent rows so
// that threads can share it.
//   NCHW: columns[c r s][n p q], output[k][n p q]     NHWC: columns[n p q][r s c], output[n p q][k]
// Legend: n image, c input channel of the group, h w input, k output channel of the group, p q output, r s
// tap.
#pragma once

#include "algorithms/im2col_gemm/chunks.hpp"

namespace convscope::im2col_gemm {

class Columns {
 public:
  explicit Columns(const ConvProblem& problem);

  // What im2col writes: a row of the matrix (NCHW) or the columns of one output row (NHWC).
  int64_t im2col_units(const Chunk& chunk) const;
  void im2col(const Chunk& chunk, int64_t group, const float* input, float* columns, Range units) const;

  // Gather form: each input row (of one channel in NCHW) collects what the chunk's columns add to it, so the
  // order of every sum is fixed. Rows that an earlier chunk of the image has written are added to, others are
  // set; the chunks of one image therefore come in order, and after the last one the image is complete.
  int64_t col2im_units(const Chunk& chunk) const;
  void col2im(const Chunk& chunk, int64_t group, const float* columns, float* input, Range units) const;

  // NCHW only; a unit is an output channel of the group.
  void gather_output(const Chunk& chunk, int64_t group, const float* output, float* matrix,
                     Range units) const;
  void scatter_output(const Chunk& chunk, int64_t group, const float* matrix, float* output,
                      Range units) const;

 private:
  // The p or q of one tap whose input position (h = p * stride + offset) lies inside the input.
  struct Inside {
    int64_t begin, end, offset;
  };
  // In NHWC the channels of one tap are contiguous in both matrices, and so are all taps of a filter row when
  // there is one group and no dilation: such a run is moved at once.
  struct Runs {
    int64_t taps, channels;  // of one run
  };

  static Inside inside(int64_t offset, int64_t stride, int64_t outputs, int64_t extent);
  // The output row of the chunk that reaches input row `h` by the tap row `r`, counted in the chunk, or -1.
  int64_t reaching_row(const Chunk& chunk, int64_t h, int64_t r) const;
  int64_t output_channel(const Chunk& chunk, int64_t group, int64_t k) const;

  void im2col_nchw(const Chunk& chunk, int64_t group, const float* input, float* columns, Range units) const;
  void im2col_nhwc(const Chunk& chunk, int64_t group, const float* input, float* columns, Range units) const;
  void col2im_nchw(const Chunk& chunk, int64_t c, int64_t n, Range h, const float* columns,
                   float* plane) const;
  void col2im_nhwc(const Chunk& chunk, int64_t n, int64_t h, const float* columns, float* row) const;
  template <typename Visit>
  void for_each_run(int64_t q, Visit visit) const;

  ConvProblem problem_;
  Extent2 out_;
  Runs run_;
  std::vector<Inside> rows_, columns_;  // by r, by s
};

}  // namespace convscope::im2col_gemm
