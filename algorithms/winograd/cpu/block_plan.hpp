// How the CPU plans divide work and memory: the strips of all images into blocks, the work of a block into
// units, the workspace into parts, with scratch memory per thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/winograd/cpu/tile_transforms.hpp"
#include "algorithms/winograd/geometry.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::winograd {

inline constexpr int64_t kFloat = sizeof(float);

// Hands out 64-byte aligned parts of the workspace. Sizes and offsets in floats.
class Arena {
 public:
  int64_t take(int64_t floats) {
    const int64_t at = size_;
    size_ += round_up(floats, 16);
    return at;
  }
  int64_t bytes() const { return size_ * kFloat; }

 private:
  int64_t size_ = 0;
};

// The scratch memory of all threads. Of each: staged pixels or filters, then the lines between the two 1-D
// transforms.
struct ScratchPart {
  int64_t at = 0, staged = 0, each = 0;
  Scratch of_thread(float* workspace, int thread) const {
    float* const begin = workspace + at + thread * each;
    return {begin, begin + staged};
  }
};
ScratchPart take_scratch(Arena& arena, const Geometry& geometry, int64_t rows, int lanes, int threads);

// Planes left unused after those that belong to one thread: the hardware's prefetcher goes on at the stride
// of the planes, and would take cache lines away from the thread whose memory follows.
inline constexpr int64_t kPlanesApart = 8;

// Rows of tiles of one image that a thread stages and transforms together: as many as fit in L1, fewer where
// that would leave a thread without work.
int64_t rows_together(const Geometry& geometry, int lanes, int threads);

// What decides the size of a block, in bytes. `strip`: the planes of one strip. `stationary`: what every
// block reads once whole (the transformed filters; the products of backward-filter). `fixed`: what the
// workspace holds besides. `padding`: the most that rounding the planes' strides adds.
struct BlockBytes {
  int64_t strip = 0, stationary = 0, fixed = 0, padding = 0;
};

// The part of the LLC that the planes of a block may fill.
int64_t shared_cache_bytes(const DeviceInfo& device);

// All the work as one block.
inline Block whole_block(const Geometry& geometry) {
  return {0, geometry.problem.batch, 0, geometry.tile_rows()};
}

// Whether `units` of equal work keep the threads busy for most of the time.
bool keeps_threads_busy(int64_t units, int64_t threads);
// The same for blocks of any size, given out in their order, each to the thread that is free first.
bool keeps_threads_busy(const std::vector<Block>& blocks, int64_t threads);

// The work in equal blocks that all threads share. A block is as large as what is stationary, so that neither
// is read much more often than the other, but at least as large as the private caches, and fits in the LLC
// and in what the workspace cap leaves. It has whole images if there is room for one, else rows of one image.
// The first block is as large as any.
std::vector<Block> cut_into_blocks(const Geometry& geometry, const BlockBytes& bytes,
                                   const DeviceInfo& device, const PlanOptions& options);

// The work in blocks that each belong to one thread, with planes of its own: threads compute whole blocks,
// independently of each other, and exchange no cache lines. Blocks fit in the private caches, or, where what
// is stationary does not, are as large as half of it within the thread's part of the LLC. Empty where not
// profitable: every thread reads what is stationary for each of its blocks, so that must not be much larger
// than a block, and the blocks must keep the threads busy evenly.
std::vector<Block> cut_for_each_thread(const Geometry& geometry, const BlockBytes& bytes,
                                       const DeviceInfo& device, const PlanOptions& options);

// Blocks of at most `max_strips` strips that keep the threads busy evenly; empty where there are none.
std::vector<Block> cut_to_fit(const Geometry& geometry, int64_t max_strips, int64_t threads);

// The units of work of a block: up to `together` rows of tiles of one image.
inline int64_t units(const Block& block, int64_t together) {
  return block.images * ceil_div(block.rows, together);
}
inline TileRows unit(const Block& block, int64_t together, int64_t index) {
  const int64_t row_units = ceil_div(block.rows, together), first = index % row_units * together;
  return {block.first_image + index / row_units, block.first_row + first,
          std::min(together, block.rows - first)};
}

// The same for each of `vectors` vectors of channels. Image by image, and in it vector by vector: the units
// of a vector may be of unequal height, and threads take equal numbers of units that follow each other.
struct VectorUnit {
  TileRows rows;
  int64_t vector;
};
inline VectorUnit vector_unit(const Block& block, int64_t together, int64_t vectors, int64_t index) {
  const int64_t row_units = ceil_div(block.rows, together), image = index / (row_units * vectors);
  return {unit(block, together, image * row_units + index % row_units), index / row_units % vectors};
}

}  // namespace convscope::winograd
