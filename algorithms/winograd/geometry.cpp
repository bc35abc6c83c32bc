#include "algorithms/winograd/geometry.hpp"

#include <algorithm>

namespace convscope::winograd {
namespace {

Axis make_axis(int64_t outputs, int64_t taps, int64_t other_taps, TileRule rule) {
  const int count = static_cast<int>(taps);
  return rule.size > 0 ? uniform_axis(outputs, count, rule.size)
                       : even_axis(outputs, count, rule.larger_alone && other_taps == 1);
}

// The unit-stride pixels of the gradient of x along one dimension. Pixel i of phase f is element
// i * step + f - pad; the first pixels may be all padding and are left out.
struct GradientPixels {
  int64_t skipped = 0, count = 0;
};
GradientPixels gradient_pixels(int64_t size, int64_t pad, int64_t step) {
  const int64_t skipped = pad / step;
  return {skipped, (size - 1 + pad) / step - skipped + 1};
}

}  // namespace

Phases::Range Geometry::phases_in(int i, int j) const {
  const bool forward = problem.pass == Pass::forward;
  return image.phases.present(forward && i == 0, forward && j == 0);
}

std::string Geometry::describe() const {
  return winograd::describe(h) + " x " + winograd::describe(w);
}

Geometry make_geometry(const ConvProblem& problem, TileRule rule) {
  Geometry result;
  result.problem = problem;
  result.image = {problem.shape(Role::input), problem.in_channels_per_group(),
                  split_stride(problem.filter, problem.stride), problem.pad};
  result.signal = {
      problem.shape(Role::output), problem.out_channels_per_group(), split_stride({1, 1}, {1, 1}), {0, 0}};
  const Extent2 taps = result.image.phases.taps;
  Extent2 outputs = problem.output();
  if (problem.pass == Pass::backward_data) {
    // x' = sum over q of y'[i - q] w[q] with the taps reversed: pixel i reads y' from i - (taps - 1) on.
    const GradientPixels h = gradient_pixels(problem.input.h, problem.pad.h, problem.stride.h);
    const GradientPixels w = gradient_pixels(problem.input.w, problem.pad.w, problem.stride.w);
    outputs = {h.count, w.count};
    result.image.origin = {problem.pad.h - h.skipped * problem.stride.h,
                           problem.pad.w - w.skipped * problem.stride.w};
    result.signal.origin = {taps.h - 1 - h.skipped, taps.w - 1 - w.skipped};
  }
  result.h = make_axis(outputs.h, taps.h, taps.w, rule);
  result.w = make_axis(outputs.w, taps.w, taps.h, rule);
  return result;
}

int64_t Block::strips_with(const Geometry& geometry, int point_h) const {
  return std::clamp<int64_t>(geometry.h.tiles_with(point_h) - first_row, 0, rows) * images;
}

TileOrder::TileOrder(const Geometry& geometry, const Block& block)
    : low_h_(geometry.h.alpha(geometry.h.tiles.back())),
      low_w_(geometry.w.alpha(geometry.w.tiles.back())),
      strips_(block.strips()),
      high_(block.strips_with(geometry, geometry.points_h() - 1)),
      columns_(geometry.tile_columns()),
      wide_(geometry.w.tiles_with(geometry.points_w() - 1)) {}

int64_t TileOrder::row(int64_t strip, int64_t column) const {
  const int64_t low = strips_ - high_, narrow = columns_ - wide_;
  const bool is_high = strip < high_;
  const int64_t in_column = is_high ? high_ : low, at = is_high ? strip : strip - high_;
  if (column < wide_) return (is_high ? low * wide_ : 0) + column * in_column + at;
  return strips_ * wide_ + (is_high ? 0 : high_ * narrow) + (column - wide_) * in_column + at;
}

TileOrder::Range TileOrder::with(int point_h, int point_w) const {
  const bool only_high = point_h >= low_h_, only_wide = point_w >= low_w_;
  const int64_t begin = only_high ? (strips_ - high_) * wide_ : 0;
  const int64_t narrow = only_wide ? 0 : (only_high ? high_ : strips_) * (columns_ - wide_);
  return {begin, strips_ * wide_ + narrow - begin};
}

}  // namespace convscope::winograd
