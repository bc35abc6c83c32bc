// What the two plans share: how the work is cut into blocks, the workspace cut into parts, scratch per
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/winograd/cpu/tile_transforms.hpp"
#include "algorithms/winograd/geometry.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::winograd {

// Hands out 64-byte aligned parts of the workspace, in floats.
class Arena {
 public:
  int64_t take(int64_t floats) {
    const int64_t at = size_;
    size_ += round_up(floats, 16);
    return at;
  }
  int64_t bytes() const { return size_ * static_cast<int64_t>(sizeof(float)); }

 private:
  int64_t size_ = 0;
};

// Memory of one thread: the staged pixels or filters, then the lines between the two 1-D transforms.
struct ScratchPart {
  int64_t at = 0, staged = 0, each = 0;
  Scratch of_thread(float* workspace, int thread) const {
    float* const begin = workspace + at + thread * each;
    return {begin, begin + staged};
  }
};
ScratchPart take_scratch(Arena& arena, const Geometry& geometry, int64_t rows, int lanes, int threads);

// Planes left free behind those that a thread has for itself and goes through by the dozen: the hardware
// guesses that it goes on at that stride, and would take lines of the thread behind away from it.
inline constexpr int64_t kPlanesApart = 8;

// Rows of tiles of one image that a thread stages and transforms at once: those that fit its first caches,
// and fewer where that would leave a thread without work.
int64_t rows_together(const Geometry& geometry, int lanes, int threads);

// What decides the size of a block: planes of a strip; what every block passes through once (the transformed
// filters, or the products of backward-filter); what the workspace holds besides; and what rounding the
// planes' strides adds at most.
struct BlockBytes {
  int64_t strip = 0, stationary = 0, fixed = 0, padding = 0;
};

// What of the shared cache a block's planes may fill.
int64_t shared_cache_bytes(const DeviceInfo& device);

// All the work as one block.
inline Block whole_block(const Geometry& geometry) {
  return {0, geometry.problem.batch, 0, geometry.tile_rows()};
}

// Whether `units` of equal work keep the threads busy nearly all the time.
bool occupies(int64_t units, int64_t threads);
// The same for blocks of any size, dealt out in their order, each to the thread that is done first.
bool occupies(const std::vector<Block>& blocks, int64_t threads);

// The work in equal blocks. A block is as large as what is stationary, so that neither of the two streams
// outweighs the other, but stays between the private caches and the shared one, and below what the workspace
// cap leaves. It has whole images if there is room for one, else rows of one image. The first block is as
// large as any.
std::vector<Block> cut_into_blocks(const Geometry& geometry, const BlockBytes& bytes,
                                   const DeviceInfo& device, const PlanOptions& options);

// The same for threads that each work on blocks of their own, in planes of their own, and need neither wait
// for each other nor for lines that the other wrote: small ones, which stay in the private caches, or where
// what is stationary does not, as large as that within a thread's part of the shared cache. Empty where that
// does not pay: every thread passes through what is stationary for every block, so that must not outweigh the
// block; and the blocks have to occupy the threads evenly.
std::vector<Block> cut_for_each_thread(const Geometry& geometry, const BlockBytes& bytes,
                                       const DeviceInfo& device, const PlanOptions& options);

// Blocks of at most `most` strips that occupy the threads evenly; empty where there are none.
std::vector<Block> cut_to_fit(const Geometry& geometry, int64_t most, int64_t threads);

// A block's units of work: up to `together` rows of tiles of one image.
inline int64_t units(const Block& block, int64_t together) {
  return block.images * ceil_div(block.rows, together);
}
inline TileRows unit(const Block& block, int64_t together, int64_t index) {
  const int64_t groups = ceil_div(block.rows, together), first = index % groups * together;
  return {block.first_image + index / groups, block.first_row + first,
          std::min(together, block.rows - first)};
}

// The same for each of `vectors` vectors of channels: image by image, and all units of a vector together, as
// they may be of unequal height and threads take equal parts of the whole.
struct VectorUnit {
  TileRows rows;
  int64_t vector;
};
inline VectorUnit vector_unit(const Block& block, int64_t together, int64_t vectors, int64_t index) {
  const int64_t groups = ceil_div(block.rows, together), image = index / (groups * vectors);
  return {unit(block, together, image * groups + index % groups), index / groups % vectors};
}

}  // namespace convscope::winograd
