// Filters to and from the planes of the batched product: forward and backward-data transform them into the
// panels of the GEMM, backward-filter transforms products back into their gradient. A filter's *column* is
// the channel that its vectors run over (output channels, in backward-data lanes of the input), its *depth*
// the other one. Runs on the calling thread.
#pragma once

#include <cstdint>

#include "algorithms/winograd/cpu/tile_transforms.hpp"
#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

class FilterTransform {
 public:
  // Depths handled by one call, and the scratch that it needs beside kLineVectors.
  static constexpr int64_t kDepthChunk = 16;
  static int64_t staged_floats(const Geometry& geometry, int lanes);

  FilterTransform(const VectorKernels& kernels, const Geometry& geometry);

  // One vector of columns for the depths [depth, depth + kDepthChunk) that exist, the first of them at `to`,
  // `row` floats from each to the next and `plane` from each plane to the next. `stream`: with streaming
  // stores, for planes larger than the caches. `next`: what is transformed next, prefetched meanwhile, as its
  // runs are too short for the hardware's prefetcher; may be null.
  void transform(const float* filter, int64_t vector, int64_t depth, float* to, int64_t row, int64_t plane,
                 bool stream, const Scratch& scratch, const float* next = nullptr) const;
  // transform() in two steps. The first, of the same vector and depths: columns of taps to points, with
  // streaming stores, to[point_h][all depths][tap_w][lane] with `point` floats from one point to the next.
  void transform_columns(const float* filter, int64_t vector, int64_t depth, float* to, int64_t point,
                         const Scratch& scratch, const float* next = nullptr) const;
  // Floats of one vector and one point there, all depths.
  int64_t half_floats() const { return depths() * geometry_.w.taps * kernels_.lanes; }
  // The second: these rows of taps to the planes of the point.
  void transform_row(const float* from, float* to, int64_t row, int64_t plane) const;
  // The first element that transform() reads of them.
  const float* first_of(const float* filter, int64_t vector, int64_t depth) const;
  // Backward-filter: one vector of output channels and the input lanes [lane, end), at most kDepthChunk,
  // lying in planes as above, to the filter's gradient.
  void inverse(const float* from, int64_t row, int64_t plane, int64_t lane, int64_t end, int64_t vector,
               float* filter, const Scratch& scratch) const;

  // Additions and multiplications of one filter of one column.
  double transform_flops() const;
  double columns_flops() const;  // of transform_columns()
  double rows_flops() const;     // of transform_row() for all points
  double inverse_flops() const;

 private:
  // Element of the filter for input lane (residue, c) and tap (r, s) of that residue; -1 past its end.
  int64_t offset(int64_t k, int64_t lane, int64_t r, int64_t s) const;
  int64_t columns() const { return backward_ ? geometry_.input_view.lanes() : geometry_.output_view.lanes(); }
  int64_t depths() const { return backward_ ? geometry_.output_view.lanes() : geometry_.input_view.lanes(); }
  void stage_scattered(const float* filter, int64_t first, int64_t used, int64_t depth, int64_t count,
                       float* staged) const;
  void write_scattered(const float* staged, int64_t first, int64_t used, int64_t depth, int64_t count,
                       float* filter) const;
  void prefetch_run(const float* next, int64_t n) const;
  // Some depths of one vector, moved to where vectors can read them.
  struct Staged {
    const float* first_tap;
    int64_t tap_step, depth_step, depths;
  };
  Staged stage(const float* filter, int64_t vector, int64_t depth, float* staged) const;
  void stage_runs(const float* filter, int64_t first, int64_t used, int64_t depth, int64_t count,
                  float* staged) const;

  const VectorKernels& kernels_;
  const Geometry& geometry_;
  TensorShape shape_;
  int64_t taps_;
  bool backward_;
  bool one_residue_;
  bool by_tap_;  // staged[tap][depth] rather than staged[depth][tap]
};

}  // namespace convscope::winograd
