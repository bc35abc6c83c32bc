// A ring of stages in shared memory that a producer warp fills by TMA and the other warps, the consumers,
// read. Of the kernels of sm_90a that multiply matrices; what a stage holds is theirs.
//
// Barriers: full[stage] completes when the bytes announced for a stage have landed, empty[stage] when all
// warps of the consumers are done with it.
//
// A Shape says kStages, kStageBytes and kConsumerWarps. Included by .cu files only.
#pragma once

#include "algorithms/common/tally.hpp"
#include "bench/device/kernel/hopper.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// The stage that a warp is at, and the parity of the barriers' phase.
template <int Stages>
struct RingPosition {
  int stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <typename Shape>
struct Ring {
  unsigned char* stages;
  uint64_t* full;
  uint64_t* empty;
};

template <typename Shape>
constexpr size_t ring_bytes() {
  return size_t{Shape::kStages} * (Shape::kStageBytes + 2 * sizeof(uint64_t));
}

// The ring in dynamic shared memory with its barriers set up; a block barrier must follow.
template <typename Shape>
__device__ __forceinline__ Ring<Shape> start_ring() {
  unsigned char* const stages = dynamic_smem<unsigned char>();
  auto* const full = reinterpret_cast<uint64_t*>(stages + Shape::kStages * Shape::kStageBytes);
  uint64_t* const empty = full + Shape::kStages;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Shape::kStages; ++stage) {
      mbarrier_init(&full[stage], 1);
      mbarrier_init(&empty[stage], Shape::kConsumerWarps);
    }
    mbarrier_fence_init();
  }
  return {stages, full, empty};
}

// The producer: for each of `count` stages load(number, stage, barrier) starts the copies of all its bytes.
template <typename Shape, typename Load>
__device__ __forceinline__ void fill_ring(const Ring<Shape>& ring, int count, const Load& load) {
  RingPosition<Shape::kStages> at;
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(&ring.empty[at.stage], at.parity ^ 1);  // at once in the first round
    mbarrier_arrive_expect_tx(&ring.full[at.stage], Shape::kStageBytes);
    tally_staged(Shape::kStageBytes);
    load(i, ring.stages + at.stage * Shape::kStageBytes, &ring.full[at.stage]);
    at.advance();
  }
}

// A consumer's side: waits for the next stage, and gives it back when all lanes of the warp have read it.
template <typename Shape>
struct RingReader {
  Ring<Shape> ring;
  RingPosition<Shape::kStages> at = {};

  __device__ __forceinline__ const unsigned char* next() const {
    mbarrier_wait(&ring.full[at.stage], at.parity);
    return ring.stages + at.stage * Shape::kStageBytes;
  }
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(&ring.empty[at.stage]);
    at.advance();
  }
};

}  // namespace
}  // namespace convscope::CONVSCOPE_KERNELS
