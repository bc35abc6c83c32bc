// Few channels: the taps of a line of the filter as one tap. Where a pixel has C channels, a stage of the
// Hopper kernels, 128 bytes for each pixel and tap, is nearly empty. But the pixels that the S taps of a line
// meet are neighbours in memory: S * pitch elements, read as the channels of one tap. The next output pixel's
// begin stride * pitch elements further on, so that the lines which TMA is told of overlap. For that the
// input's lines are repacked: `pitch` elements a pixel, with the padding beside the image, all else zero.
// Start at joined_taps().
#pragma once

#include <optional>

#include "algorithms/implicit_gemm/cuda/boxed_gradient.hpp"
#include "algorithms/implicit_gemm/cuda/boxed_product.hpp"

namespace convscope::implicit_gemm {

struct JoinedTaps {
  LinePack input, filter;  // the filter to [column][r][s * pitch + c]
  int windows = 0;         // of a line: the output's width
  int window = 0;          // elements of one: S * pitch
  int window_pitch = 0;    // from one to the next: stride * pitch
};

// Forward and backward-filter of one group without dilation along lines, where the input must be repacked in
// any case and at most half as many stages are needed; nothing otherwise.
std::optional<JoinedTaps> joined_taps(const ConvProblem& problem);

// The products of `joined_taps`, from those of single taps.
void join(BoxedProduct& product, const JoinedTaps& joined);
void join(BoxedGradient& product, const JoinedTaps& joined);

}  // namespace convscope::implicit_gemm
