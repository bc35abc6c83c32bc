#include "algorithms/winograd/cpu/filter_transform.hpp"

#include <hwy/cache_control.h>

#include <algorithm>

#include "algorithms/winograd/line_costs.hpp"

namespace convscope::winograd {

int64_t FilterTransform::staged_floats(const Geometry& geometry, int lanes) {
  return kDepthChunk * geometry.h.taps * geometry.w.taps * lanes;
}

FilterTransform::FilterTransform(const VectorKernels& kernels, const Geometry& geometry)
    : kernels_(kernels),
      geometry_(geometry),
      shape_(geometry.problem.shape(Role::filter)),
      taps_(int64_t{geometry.h.taps} * geometry.w.taps),
      backward_(geometry.problem.pass == Pass::backward_data),
      one_residue_(geometry.has_one_residue()),
      by_tap_(one_residue_ && !backward_ && shape_.stride[1] == 1 && shape_.stride[3] != 1) {}

int64_t FilterTransform::offset(int64_t k, int64_t lane, int64_t r, int64_t s) const {
  const Residues& residues = geometry_.input_view.residues;
  const Extent2 residue = residues.offsets[lane / geometry_.input_view.channels];
  const int64_t h = r * residues.step.h + residue.h, w = s * residues.step.w + residue.w;
  if (h >= shape_.size[2] || w >= shape_.size[3]) return -1;
  return shape_.offset(k, lane % geometry_.input_view.channels, h, w);
}

// staged[depth][tap][column], any layout, zeros for the taps that a residue lacks.
void FilterTransform::stage_scattered(const float* filter, int64_t first, int64_t used, int64_t depth,
                                      int64_t count, float* staged) const {
  for (int64_t d = 0; d < count; ++d)
    for (int64_t r = 0; r < geometry_.h.taps; ++r)
      for (int64_t s = 0; s < geometry_.w.taps; ++s, staged += kernels_.lanes)
        for (int64_t l = 0; l < kernels_.lanes; ++l) {
          const int64_t column = first + l;
          const int64_t at = l >= used   ? -1
                             : backward_ ? offset(depth + d, column, r, s)
                                         : offset(column, depth + d, r, s);
          staged[l] = at < 0 ? 0.0f : filter[at];
        }
}

// The same for one residue, in vectors: whichever of tap, column and depth is contiguous is moved along.
// Where it is the depth, the result is staged[tap][depth][column].
void FilterTransform::stage_runs(const float* filter, int64_t first, int64_t used, int64_t depth,
                                 int64_t count, float* staged) const {
  const int64_t column_stride = shape_.stride[backward_ ? 1 : 0];
  const int64_t depth_stride = shape_.stride[backward_ ? 0 : 1];
  const int64_t tap_stride = shape_.stride[3], lanes = kernels_.lanes;
  filter = first_of(filter, first / lanes, depth);
  if (by_tap_) {
    for (int64_t tap = 0; tap < taps_; ++tap)
      kernels_.pack_planes(filter + tap * tap_stride, column_stride, count, used,
                           staged + tap * kDepthChunk * lanes);
    return;
  }
  if (tap_stride == 1 && depth_stride == taps_) {
    kernels_.pack_planes(filter, column_stride, count * taps_, used, staged);
    return;
  }
  for (int64_t d = 0; d < count; ++d) {
    if (tap_stride == 1)
      kernels_.pack_planes(filter + d * depth_stride, column_stride, taps_, used, staged + d * taps_ * lanes);
    else
      kernels_.pack_pixels(filter + d * depth_stride, tap_stride, taps_, used, staged + d * taps_ * lanes);
  }
}

const float* FilterTransform::first_of(const float* filter, int64_t vector, int64_t depth) const {
  const int64_t column = vector * kernels_.lanes;
  return filter + (backward_ ? shape_.offset(depth, column, 0, 0) : shape_.offset(column, depth, 0, 0));
}

FilterTransform::Staged FilterTransform::stage(const float* filter, int64_t vector, int64_t depth,
                                               float* staged) const {
  const int64_t lanes = kernels_.lanes, first = vector * lanes;
  const int64_t used = std::min(lanes, columns() - first), count = std::min(kDepthChunk, depths() - depth);
  if (one_residue_)
    stage_runs(filter, first, used, depth, count, staged);
  else
    stage_scattered(filter, first, used, depth, count, staged);
  const int64_t tap_step = by_tap_ ? kDepthChunk * lanes : lanes;
  // Backward-data reads the taps in reverse.
  return {staged + (backward_ ? (taps_ - 1) * tap_step : 0), backward_ ? -tap_step : tap_step,
          by_tap_ ? lanes : taps_ * lanes, count};
}

// Prefetches the n-th column of those depths, or in backward-data the n-th depth of those columns.
void FilterTransform::prefetch_run(const float* next, int64_t n) const {
  constexpr int64_t kLine = 16;  // floats
  const int64_t runs = backward_ ? kDepthChunk : kernels_.lanes;
  const int64_t floats = (backward_ ? kernels_.lanes : kDepthChunk) * taps_;
  if (next == nullptr || !one_residue_ || shape_.stride[3] != 1 || n >= runs) return;
  for (int64_t i = 0; i < floats; i += kLine) __builtin_prefetch(next + n * shape_.stride[0] + i, 0, 2);
}

// Rows first, so that a column of planes is written together.
void FilterTransform::transform(const float* filter, int64_t vector, int64_t depth, float* to, int64_t row,
                                int64_t plane, bool stream, const Scratch& scratch, const float* next) const {
  const int64_t lanes = kernels_.lanes;
  const int taps_h = geometry_.h.taps, taps_w = geometry_.w.taps;
  const int points_h = geometry_.points_h(), points_w = geometry_.points_w();
  const Staged staged = stage(filter, vector, depth, scratch.staged);
  const Line rows_line = kernels_.evaluate[points_w][taps_w];
  const Line columns_line = (stream ? kernels_.stream_evaluate : kernels_.evaluate)[points_h][taps_h];
  for (int64_t d = 0; d < staged.depths; ++d) {
    prefetch_run(next, d);
    const float* const first_tap = staged.first_tap + d * staged.depth_step;
    if (points_w == 1) {
      columns_line(first_tap, staged.tap_step, 0, to + d * row, plane, 0, 1);
      continue;
    }
    rows_line(first_tap, staged.tap_step, taps_w * staged.tap_step, scratch.lines, lanes, points_w * lanes,
              taps_h);
    columns_line(scratch.lines, points_w * lanes, lanes, to + d * row, points_w * plane, plane, points_w);
  }
  if (stream) hwy::FlushStream();
}

void FilterTransform::transform_columns(const float* filter, int64_t vector, int64_t depth, float* to,
                                        int64_t point, const Scratch& scratch, const float* next) const {
  const int64_t lanes = kernels_.lanes;
  const int taps_h = geometry_.h.taps, taps_w = geometry_.w.taps;
  const Staged staged = stage(filter, vector, depth, scratch.staged);
  const Line line = kernels_.stream_evaluate[geometry_.points_h()][taps_h];
  for (int64_t d = 0; d < staged.depths; ++d) {
    prefetch_run(next, d);
    line(staged.first_tap + d * staged.depth_step, taps_w * staged.tap_step, staged.tap_step,
         to + (depth + d) * taps_w * lanes, point, lanes, taps_w);
  }
  hwy::FlushStream();
}

void FilterTransform::transform_row(const float* from, float* to, int64_t row, int64_t plane) const {
  const int64_t lanes = kernels_.lanes;
  const int taps_w = geometry_.w.taps;
  kernels_.evaluate[geometry_.points_w()][taps_w](from, lanes, taps_w * lanes, to, plane, row, depths());
}

void FilterTransform::inverse(const float* from, int64_t row, int64_t plane, int64_t lane, int64_t end,
                              int64_t vector, float* filter, const Scratch& scratch) const {
  const int64_t lanes = kernels_.lanes, first = vector * lanes;
  const int64_t used = std::min(lanes, geometry_.output_view.lanes() - first);
  const int64_t count = end - lane;
  const int taps_h = geometry_.h.taps, taps_w = geometry_.w.taps;
  const int points_h = geometry_.points_h(), points_w = geometry_.points_w();
  const int64_t tap_step = by_tap_ ? kDepthChunk * lanes : lanes;
  const int64_t depth_step = by_tap_ ? lanes : taps_ * lanes;
  for (int64_t d = 0; d < count; ++d, from += row) {
    kernels_.interpolate[points_h][taps_h](from, points_w * plane, plane, scratch.lines, points_w * lanes,
                                           lanes, points_w);
    kernels_.interpolate[points_w][taps_w](scratch.lines, lanes, points_w * lanes,
                                           scratch.staged + d * depth_step, tap_step, taps_w * tap_step,
                                           taps_h);
  }
  if (!one_residue_) {
    write_scattered(scratch.staged, first, used, lane, count, filter);
    return;
  }
  float* const to = filter + shape_.offset(first, lane, 0, 0);
  if (by_tap_)
    for (int64_t tap = 0; tap < taps_; ++tap)
      kernels_.unpack_planes(scratch.staged + tap * tap_step, to + tap * shape_.stride[3], shape_.stride[0],
                             count, used);
  else
    kernels_.unpack_planes(scratch.staged, to, shape_.stride[0], count * taps_, used);
}

// Lines of one point cost nothing, so that these hold for filters of one row or column too.
double FilterTransform::transform_flops() const {
  const Axis &h = geometry_.h, &w = geometry_.w;
  return h.taps * line_costs().evaluate[w.largest_alpha()][w.taps] +
         w.largest_alpha() * line_costs().evaluate[h.largest_alpha()][h.taps];
}

double FilterTransform::columns_flops() const {
  return geometry_.w.taps * line_costs().evaluate[geometry_.points_h()][geometry_.h.taps];
}

double FilterTransform::rows_flops() const {
  return geometry_.points_h() * line_costs().evaluate[geometry_.points_w()][geometry_.w.taps];
}

double FilterTransform::inverse_flops() const {
  const Axis &h = geometry_.h, &w = geometry_.w;
  return w.largest_alpha() * line_costs().interpolate[h.largest_alpha()][h.taps] +
         h.taps * line_costs().interpolate[w.largest_alpha()][w.taps];
}

// From staged[depth][tap][column], the taps that a residue lacks left out.
void FilterTransform::write_scattered(const float* staged, int64_t first, int64_t used, int64_t depth,
                                      int64_t count, float* filter) const {
  for (int64_t d = 0; d < count; ++d)
    for (int64_t r = 0; r < geometry_.h.taps; ++r)
      for (int64_t s = 0; s < geometry_.w.taps; ++s, staged += kernels_.lanes)
        for (int64_t l = 0; l < used; ++l) {
          const int64_t at = offset(first + l, depth + d, r, s);
          if (at >= 0) filter[at] = staged[l];
        }
}

}  // namespace convscope::winograd
