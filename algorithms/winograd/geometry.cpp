#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {
namespace {

Axis make_axis(int64_t outputs, int64_t taps, int64_t other_taps, TileRule rule) {
  const int count = static_cast<int>(taps);
  return rule.size > 0 ? uniform_axis(outputs, count, rule.size)
                       : even_axis(outputs, count, rule.larger_in_1d && other_taps == 1);
}

// The unit-stride pixels of the gradient of x along one dimension. Pixel i of residue f is element
// i * step + f - pad; the first pixels may be all padding and are left out.
struct GradientPixels {
  int64_t skipped = 0, count = 0;
};
GradientPixels gradient_pixels(int64_t size, int64_t pad, int64_t step) {
  const int64_t skipped = pad / step;
  return {skipped, (size - 1 + pad) / step - skipped + 1};
}

}  // namespace

Residues::Range Geometry::residues_in(int i, int j) const {
  const bool forward = problem.pass == Pass::forward;
  return input_view.residues.present(forward && i == 0, forward && j == 0);
}

std::string Geometry::describe() const {
  return winograd::describe(h) + " x " + winograd::describe(w);
}

Geometry make_geometry(const ConvProblem& problem, TileRule rule) {
  Geometry result;
  result.problem = problem;
  result.input_view = {problem.shape(Role::input), problem.in_channels_per_group(),
                       split_stride(problem.filter, problem.stride), problem.pad};
  result.output_view = {
      problem.shape(Role::output), problem.out_channels_per_group(), split_stride({1, 1}, {1, 1}), {0, 0}};
  const Extent2 taps = result.input_view.residues.taps;
  Extent2 outputs = problem.output();
  if (problem.pass == Pass::backward_data) {
    // x' = sum over q of y'[i - q] w[q] with the taps reversed: pixel i reads y' from i - (taps - 1) on.
    const GradientPixels h = gradient_pixels(problem.input.h, problem.pad.h, problem.stride.h);
    const GradientPixels w = gradient_pixels(problem.input.w, problem.pad.w, problem.stride.w);
    outputs = {h.count, w.count};
    result.input_view.origin = {problem.pad.h - h.skipped * problem.stride.h,
                                problem.pad.w - w.skipped * problem.stride.w};
    result.output_view.origin = {taps.h - 1 - h.skipped, taps.w - 1 - w.skipped};
  }
  result.h = make_axis(outputs.h, taps.h, taps.w, rule);
  result.w = make_axis(outputs.w, taps.w, taps.h, rule);
  return result;
}

}  // namespace convscope::winograd
