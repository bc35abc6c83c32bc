// What one problem must give on one kind of data, from the reference in f64: values one by one (all, or a
// sample) and sums that cover the rest. Computed once, compared with every candidate. The bounds are those of
// docs/measuring.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/verify/block_sums.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {

// How the result compares, and the first fault of it as a sentence.
struct Comparison {
  double relative_l2 = 0;
  double max_abs = 0;
  double max_relative = 0;
  std::optional<std::string> fault;
};

class Expectation {
 public:
  Expectation(const ConvProblem& problem, const VerifyOptions& options, DataKind kind);

  // `written` is the whole tensor that the pass wrote, without NaN. `exact`: must be equal.
  Comparison compare(const float* written, double error_growth, bool exact) const;
  // The largest difference allowed between two runs of one plan at one element.
  double repeat_tolerance() const;
  int64_t checked_outputs() const { return static_cast<int64_t>(offset_.size()); }

 private:
  using Tensors = std::array<std::vector<float>, 3>;  // by role; the written one is empty

  bool expect_from_device(const Tensors& tensors, Device* device);
  void expect_from_cpu(const Tensors& tensors, const VerifyOptions& options);
  void summarise();
  double bound(size_t i, double error_growth) const;
  double expected_value(size_t i, bool exact) const;
  std::optional<std::string> sums_fault(const float* written, bool exact) const;

  ConvProblem problem_;
  double gate_;
  std::vector<int64_t> offset_;
  std::vector<double> value_, magnitude_;
  double typical_ = 0;  // root mean square of the values, or what it is expected to be where few cancel
  double largest_magnitude_ = 0, largest_value_ = 0;
  std::optional<BlockSums> sums_;
  std::vector<double> expected_sums_;
};

}  // namespace convscope
