// The planes of one pass on a GPU and the batched product over them: which matrix is A, B and C, which part
// of each plane is multiplied, and how the batch is cut into chunks. Plain arithmetic on sizes.
//
// Forward and backward-data: A the transformed filters, B the tiles read, C the tiles written; m are the
// channels written, n tiles, k the channels read. Backward-filter: A and B the tiles of the two gradients'
// operands, C the gradient of the filters; k are tiles, summed over all chunks and splits in a fixed order.
#pragma once

#include "algorithms/winograd/cuda/plane_layout.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::winograd {

// A set of planes, tiles by lanes.
struct PlaneSet {
  PlaneStrides strides;
  bool lanes_contiguous = false;
  int64_t floats = 0;
  // Floats between rows of the matrix, whether they are tiles or lanes.
  int row() const { return static_cast<int>(lanes_contiguous ? strides.tile : strides.lane); }
};

struct PassPlanes {
  // The filters, transformed, or (backward-filter) one split of their gradient before the inverse.
  PlaneSet filters;
  // The tiles of the input and of the output, for one chunk.
  PlaneSet input, output;
};
PassPlanes pass_planes(const Geometry& geometry, int64_t images);

// Everything but the pointers, the splits and the accumulation, for a chunk of `images`, whose planes are
// those of pass_planes() for as many or more.
GemmArguments plane_products(const Geometry& geometry, const PassPlanes& planes, const TileClasses& classes,
                             const DeviceInfo& device);

// How the batch is cut into chunks, and k of backward-filter into splits. Backward-filter sums over all
// tiles: where the cap allows it, there are splits enough for the error that longest_sum() lets expect.
struct Chunking {
  int64_t images = 1;
  int splits = 1;
};
// Additions that follow one another (Plan::longest_sum()): kGemmRun in registers, then those to C, one for
// each run and chunk, and those of the splits.
double longest_sum(const Geometry& geometry, const Chunking& chunking);
Chunking chunking(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);
int64_t workspace_floats(const Geometry& geometry, const Chunking& chunking);

// Blocks of a product that have something to do, their multiply-adds and the bytes that they bring to shared
// memory, padding to block tiles and slabs of the depth included.
struct GemmWork {
  double blocks = 0, multiply_adds = 0, staged_bytes = 0;
};
GemmWork gemm_work(const GemmArguments& arguments);

// The fused kernel for output tiles of `size`: channels written and tiles of a block, channels read of a
// slab, shared memory (two slabs of filters and tiles); and the planes of its filters, [channel read][channel
// written] in any layout.
inline constexpr int kFusedTiles = 32, kFusedDepth = 8;
constexpr int fused_channels(int size) {
  return size == 2 ? 64 : 32;
}
constexpr int fused_shared_bytes(int size) {
  return 2 * (size + 2) * (size + 2) * kFusedDepth * (fused_channels(size) + kFusedTiles) * 4;
}
PlaneSet fused_filter_planes(const Geometry& geometry);

}  // namespace convscope::winograd
