// All-reduce of 1-bit codes, striped by columns (Seide et al. 2014): every rank encodes its gradient and
// sends each stripe to the rank that owns it; the owner decodes and sums them, encodes the sum with an error
// of its own, and sends it to all. Both errors are fed back, so that nothing is lost for good.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/reductions/one_bit_codec.hpp"

namespace convscope {

// One gradient's reduction on one rank, with the errors that it keeps from step to step, all in the memory of
// the rank's device.
class OneBitReduction {
 public:
  // What coding does counts as this phase in the queue's timings.
  static constexpr Phase kCoding = Phase::transform;

  // `queue` is the device's and the one on which the fabric exchanges. Throws std::bad_alloc.
  OneBitReduction(const Columns& columns, int ranks, int rank, Device& device, Queue& queue);

  // Replaces the gradient by the decoded sum over all ranks, the same bits on each. One rank's is left as it
  // is. All ranks call it with gradients of the same columns. Where exchange() enqueues this does, too.
  void all_reduce(Fabric& fabric, std::span<float> gradient);

  // What this rank has not passed on of one value: its own error, and that of the sum where it owns the
  // column. The sum of all that was returned is that of all gradients, less what all ranks keep.
  // For when the queue is done, as is error().
  float kept(size_t offset) const;
  // Of this rank's gradients alone.
  std::vector<float> error() const;

  // That a rank sends in one all_reduce(), at most.
  static double busiest_bytes(const Columns& columns, int ranks);

 private:
  int64_t first_column(int rank) const { return columns_.count * rank / ranks_; }
  Columns stripe(int rank) const { return columns_.range(first_column(rank), first_column(rank + 1)); }
  // The words of a stripe, in codes of all columns.
  std::span<uint32_t> words_of(int rank) const;
  // This rank's stripe as another one encoded it, by the order in which they are received.
  std::span<uint32_t> received(size_t i) const;

  Columns columns_;
  int ranks_, rank_;
  OneBitCodec codec_;
  Buffer error_, owner_error_, sum_;
  Buffer encoded_;   // of all columns: first this rank's own, then the sums
  Buffer received_;  // from all other ranks
};

}  // namespace convscope
