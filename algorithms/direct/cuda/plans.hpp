// The plans of the CUDA rows, once for the GPU and once for the emulator. Rows, refusals and counts:
// direct_cuda.cpp. Legend for the kernels: n c h w input, k r s filter, p q output; u v a written pixel
// inside one phase.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/registry.hpp"

namespace convscope::direct {

// Channels that are read and written, of one group: input and output channels change places between the
// passes.
struct PassChannels {
  int read = 0, written = 0;
};
PassChannels pass_channels(const ConvProblem& problem);

// 64 written channels by up to 128 pixels a block; each thread 8 of each.
struct TiledTile {
  static constexpr int kChannels = 64, kPixels = 128, kThreads = 128, kPerThread = 8;
  static constexpr int kBlocks = 4;  // on a multiprocessor: 128 registers
};

// How tiled.cu cuts one phase: pixels of a tile, and the patch that its taps reach, staged `channels` at a
// time.
struct TiledShape {
  int tile_h = 0, tile_w = 0;
  int patch_h = 0, patch_w = 0;
  int plane = 0;     // floats between channels of the patch: odd, so that channels lie in different banks
  int channels = 0;  // 1, 2, 4 or 8; 0 where even one does not fit
  int64_t smem_bytes = 0;
};

// Shared memory that every GPU from sm_80 on gives a block.
inline constexpr int64_t kMostSharedBytes = 96 << 10;

struct AxisPhase;
TiledShape tiled_shape(const AxisPhase& y, const AxisPhase& x, int read_channels);

// Rows 64 (written channels) by columns 128 (read channel and tap) of the filter gradient a block; 16 pixels
// a step.
struct GradientTile {
  static constexpr int kRows = 64, kColumns = 128, kDepth = 16, kThreads = 128;
  // Pixels of a slice in one launch, which sums in registers run over: a multiple of kDepth.
  static constexpr int kLongestSum = 16384;
};
// Partial sums over the pixels, each in its part of the workspace, added in fixed order. At least 1.
int gradient_slices(const ConvProblem& problem, int64_t workspace_cap);

// Registers direct.tiled.cuda, direct.chwn.cuda and direct.depthwise.cuda.
void add_direct_cuda(Registry& registry);

}  // namespace convscope::direct

namespace convscope {
namespace cuda {
std::unique_ptr<Plan> make_tiled_plan(const ConvProblem&, const PlanOptions&);
std::unique_ptr<Plan> make_chwn_plan(const ConvProblem&, const PlanOptions&);
std::unique_ptr<Plan> make_gradient_plan(const ConvProblem&, const PlanOptions&);
std::unique_ptr<Plan> make_depthwise_cuda_plan(const ConvProblem&, const PlanOptions&);
}  // namespace cuda
namespace emulated {
std::unique_ptr<Plan> make_tiled_plan(const ConvProblem&, const PlanOptions&);
std::unique_ptr<Plan> make_chwn_plan(const ConvProblem&, const PlanOptions&);
std::unique_ptr<Plan> make_gradient_plan(const ConvProblem&, const PlanOptions&);
std::unique_ptr<Plan> make_depthwise_cuda_plan(const ConvProblem&, const PlanOptions&);
}  // namespace emulated
}  // namespace convscope
