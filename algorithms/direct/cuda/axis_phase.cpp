#include "algorithms/direct/cuda/axis_phase.hpp"

#include <algorithm>
#include <numeric>

namespace convscope::direct {
namespace {

// Input x = residue + u * stride meets output o = (x + pad - r * dilation) / stride for the taps r that leave
// no remainder: r = r0, r0 + m, ... with m = stride / gcd(stride, dilation). They are taken from the last to
// the first, so that o rises.
AxisPhase backward_phase(const AxisSizes& axis, int64_t residue) {
  AxisPhase phase;
  phase.extent = static_cast<int>((axis.input - residue + axis.stride - 1) / axis.stride);
  phase.written_first = static_cast<int>(residue);
  phase.written_step = static_cast<int>(axis.stride);
  const int64_t step = axis.stride / std::gcd(axis.stride, axis.dilation);
  const auto remainder = [&](int64_t tap) {
    return (residue + axis.pad - tap * axis.dilation) % axis.stride;
  };
  int64_t first = 0;
  while (first < std::min(step, axis.filter) && remainder(first) != 0) ++first;
  if (first == std::min(step, axis.filter)) return phase;
  const int64_t taps = (axis.filter - first + step - 1) / step, last = first + (taps - 1) * step;
  phase.taps = static_cast<int>(taps);
  phase.first_tap = static_cast<int>(last);
  phase.tap_step = static_cast<int>(-step);
  phase.first_read = static_cast<int>((residue + axis.pad - last * axis.dilation) / axis.stride);
  phase.read_tap_step = static_cast<int>(step * axis.dilation / axis.stride);
  return phase;
}

}  // namespace

AxisSizes vertical(const ConvProblem& p) {
  return {p.input.h, p.output().h, p.filter.h, p.stride.h, p.pad.h, p.dilation.h};
}

AxisSizes horizontal(const ConvProblem& p) {
  return {p.input.w, p.output().w, p.filter.w, p.stride.w, p.pad.w, p.dilation.w};
}

std::vector<AxisPhase> axis_phases(const AxisSizes& axis, bool forward) {
  if (forward)
    return {{.extent = static_cast<int>(axis.output),
             .taps = static_cast<int>(axis.filter),
             .read_step = static_cast<int>(axis.stride),
             .first_read = static_cast<int>(-axis.pad),
             .read_tap_step = static_cast<int>(axis.dilation)}};
  std::vector<AxisPhase> phases;
  for (int64_t residue = 0; residue < std::min(axis.stride, axis.input); ++residue)
    phases.push_back(backward_phase(axis, residue));
  return phases;
}

}  // namespace convscope::direct
