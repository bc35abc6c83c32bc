// Forward and backward-data are one loop over an index map: both write each element as a sum of taps over
// what they read. AxisPhase is that map along one axis. Backward-data with stride s has s phases an axis, the
// residues of the written coordinate: each meets only the taps that hit an output, so no zeros are
// multiplied.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope::direct {

// Written element u < extent stands at coordinate written_first + u * written_step. It is the sum over i <
// taps of filter tap first_tap + i * tap_step times read coordinate u * read_step + first_read + i *
// read_tap_step (outside the tensor: zero). read_tap_step is positive. All in elements.
struct AxisPhase {
  int extent = 0, written_first = 0, written_step = 1;
  int taps = 0, first_tap = 0, tap_step = 1;
  int read_step = 1, first_read = 0, read_tap_step = 1;
};

// Sizes of one axis of a convolution.
struct AxisSizes {
  int64_t input = 1, output = 1, filter = 1, stride = 1, pad = 0, dilation = 1;
};

AxisSizes vertical(const ConvProblem& problem);
AxisSizes horizontal(const ConvProblem& problem);

// Forward has one phase. Backward-data has one for each residue of the input coordinate that exists; one
// without taps writes zeros.
std::vector<AxisPhase> axis_phases(const AxisSizes& axis, bool forward);

}  // namespace convscope::direct
