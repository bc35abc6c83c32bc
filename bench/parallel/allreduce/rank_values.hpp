// The values of one rank whose sums are measured: where they lie, and what sums them there.
#pragma once

#include <span>

#include "bench/parallel/allreduce/reduction_row.hpp"
#include "bench/parallel/reductions/reductions.hpp"

namespace convscope {

// What sums is the row's `reduce`: a Reduction or the library's own. After allocate() every rank calls the
// same functions in the same order. Errors of a device or library are DeviceError.
class RankValues {
 public:
  virtual ~RankValues() = default;

  virtual bool has_library() const = 0;
  // Whether this rank has memory for so many values and as many of scratch; false leaves it without any.
  virtual bool allocate(size_t values, size_t scratch) = 0;

  // The values on the host: what is written there is summed after upload(), sums are there after download().
  virtual std::span<float> host() = 0;
  virtual void upload() {}
  virtual void download() {}
  // Whether nothing was written beside the values and the scratch memory, as far as that can be seen.
  virtual bool is_intact() const { return true; }

  // One all-reduce; where memory is a device's it is done after finish().
  virtual void all_reduce(const ReductionRow& row) = 0;
  virtual void finish() {}

  // Asked before each sample: whether what sums is slower than usual now, or used by other programs. What the
  // rank's threads lose is seen without it.
  virtual bool is_slowed() { return false; }
  // Seconds: all-reduces that take less are repeated within a sample, so that what surrounds them does not
  // count.
  virtual double shortest_sample() const { return 1e-3; }
};

}  // namespace convscope
