// How the CUDA variants cut a problem: index maps of the passes, tiles and slices. Only index arithmetic, no
// memory. Forward and backward-data are one loop over an index map: both write each element as a sum of taps
// over what they read. Backward-data with stride s has s such maps an axis, one for each residue of the
// written coordinate modulo s, each with only the taps that hit an output, so no zeros are multiplied.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"

namespace convscope::direct {

// Written element u < extent stands at coordinate written_first + u * written_step. It is the sum over i <
// taps of filter tap first_tap + i * tap_step times read coordinate u * read_step + first_read + i *
// read_tap_step (outside the tensor: zero). read_tap_step is positive. All in elements.
struct AxisResidue {
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

// Forward has one. Backward-data has one for each residue of the input coordinate that exists; one without
// taps writes zeros.
std::vector<AxisResidue> axis_residues(const AxisSizes& axis, bool forward);

// Taps of element u that read inside a tensor of `size` positions.
int taps_inside(const AxisResidue& axis, int64_t u, int64_t size);

// Channels that are read and written, of one group: input and output channels change places between the
// passes.
struct PassChannels {
  int read = 0, written = 0;
};
PassChannels pass_channels(const ConvProblem& problem);

// A block computes 64 written channels by up to 128 pixels; each thread 8 of each.
struct TiledTile {
  static constexpr int kChannels = 64, kPixels = 128, kThreads = 128, kPerThread = 8;
  static constexpr int kBlocks = 4;  // per multiprocessor: 128 registers
};

// How tiled.cu cuts one residue: pixels of a tile, and the patch that its taps reach, staged `channels` at a
// time.
struct TiledShape {
  int tile_h = 0, tile_w = 0;
  int patch_h = 0, patch_w = 0;
  int plane = 0;     // floats between channels of the patch: odd, so that channels lie in different banks
  int channels = 0;  // 1, 2, 4 or 8; 0 where even one does not fit
  int64_t smem_bytes = 0;
};

// Shared memory that every GPU from sm_80 on gives a block.
inline constexpr int64_t kMaxSharedBytes = 96 << 10;

TiledShape tiled_shape(const AxisResidue& y, const AxisResidue& x, int read_channels);

// A block sums 64 rows (written channels) by 128 columns (read channel and tap) of the filter gradient, 16
// pixels a step.
struct GradientTile {
  static constexpr int kRows = 64, kColumns = 128, kDepth = 16, kThreads = 128;
  // Pixels of a slice in one launch, which sums in registers run over: a multiple of kDepth. More where a
  // slice has so many that there would be too many launches.
  static constexpr int kMaxChain = 16384, kMaxLaunches = 1024;
};
// Partial sums over the pixels, each in its part of the workspace, added in fixed order. At least 1.
int gradient_slices(const ConvProblem& problem, int64_t workspace_cap);

}  // namespace convscope::direct
