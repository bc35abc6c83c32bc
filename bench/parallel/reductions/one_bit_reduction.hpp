// All-reduce of 1-bit codes, striped by columns (Seide et al. 2014): every rank encodes its gradient and
// sends each stripe to the rank that owns it; the owner decodes and sums them, encodes the sum with an error
// of its own, and sends it to all. Both errors are fed back, so that nothing is lost for good.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/reductions/one_bit.hpp"

namespace convscope {

// One gradient's reduction on one rank, with the errors that it keeps from step to step.
class OneBitReduction {
 public:
  OneBitReduction(const Columns& columns, int ranks, int rank);

  // Replaces the gradient by the decoded sum over all ranks, the same bits on each. One rank's is left as it
  // is. All ranks call it with gradients of the same columns.
  void all_reduce(Fabric& fabric, std::span<float> gradient);

  // What has not been sent so far: of this rank's gradients, and of the sums of the columns that it owns. The
  // sum of all that was returned is that of all gradients, less every rank's errors.
  std::span<const float> error() const { return error_; }
  std::span<const float> owner_error() const { return owner_error_; }
  int64_t first_owned_column() const { return first_column(rank_); }

  // Spent in coding and decoding so far, in all calls together.
  double coding_seconds() const { return coding_seconds_; }

  // That a rank sends in one all_reduce(), at most.
  static double busiest_bytes(const Columns& columns, int ranks);

 private:
  int64_t first_column(int rank) const { return columns_.count * rank / ranks_; }
  Columns stripe(int rank) const { return columns_.range(first_column(rank), first_column(rank + 1)); }
  // The words of a stripe, in codes of all columns.
  std::span<uint32_t> words_of(int rank, std::span<uint32_t> encoded) const;

  Columns columns_;
  int ranks_, rank_;
  std::vector<float> error_, owner_error_, sum_;
  std::vector<uint32_t> encoded_;   // of all columns: first this rank's own, then the sums
  std::vector<uint32_t> received_;  // this rank's stripe as the other ranks encoded it
  double coding_seconds_ = 0;
};

}  // namespace convscope
