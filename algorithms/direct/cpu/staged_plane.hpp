// The copy of some rows of one plane (a channel of one image) that the plane kernels read: zeros around it,
// and columns split by residue of the stride, so that neighbouring outputs read neighbouring columns. Each
// thread has one, which fits in L1.
#pragma once

#include <array>

#include "algorithms/direct/cpu/geometry.hpp"
#include "algorithms/direct/cpu/plane_kernels.hpp"

namespace convscope::direct {

// [row][residue][column], all in floats. Column x of the plane is staged column left + x / step of residue x
// mod step.
class StagedPlane {
 public:
  StagedPlane() = default;
  // For the columns of all correlations that read the plane. Their step is 1 or 2.
  explicit StagedPlane(const std::vector<Correlation>& correlations);

  // From where output column 0 of a row reads without an offset to where the tap reads.
  int64_t column_offset(const Tap& tap) const;
  int64_t row_step() const { return step_ * width_; }
  int64_t first_column() const { return left_; }

  // Copies the rows of the plane at `from` to `to`, those outside the plane as zeros. What lies between
  // staged rows must be zero and is not written.
  void stage(const PlaneKernels& kernels, const float* from, Range rows, float* to) const;

 private:
  int64_t rows_ = 0, columns_ = 0, step_ = 1;
  int64_t left_ = 0, width_ = 0;  // of one residue
};

// A correlation's taps in runs that share their loads.
class TapRunList {
 public:
  // `filter_columns`: of a filter row.
  TapRunList(const Correlation& correlation, const StagedPlane& staged, int64_t filter_columns);
  TapRuns view() const { return {runs_.data(), of_size_[2], of_size_[1], of_size_[0]}; }

 private:
  std::vector<TapRun> runs_;
  std::array<int64_t, 3> of_size_{};  // [taps - 1]
};

}  // namespace convscope::direct
