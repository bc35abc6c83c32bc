// Expectation: what one problem must give on one kind of data. Values in f64, of every output or of a sample,
// and then sums that cover the rest. Computed once and compared with every candidate. The bounds are those of
// docs/measuring.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/verify/block_sums.hpp"
#include "bench/verify/device_reference.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {

// The errors of a result, and its first fault as a sentence.
struct Comparison {
  double relative_l2 = 0;
  double max_abs = 0;
  double max_relative = 0;
  std::optional<std::string> fault;
};

// The bound on an output's error.
struct ErrorBounds {
  bool exact = false;   // no error is allowed
  double relative = 0;  // of the magnitude: the output's own, or one for all
  bool has_one_magnitude = false;
  double one_magnitude = 0;
  double max = 0;               // of the bound, whatever the magnitude
  double repeat_tolerance = 0;  // between two runs of one plan at one element
};

// What one pass over a result found. No initial values: kernels hold it in shared memory. Offsets are kNone
// where nothing was found. Elements that are not finite count in first_not_finite alone.
struct Findings {
  static constexpr int64_t kNone = INT64_MAX;
  int64_t compared;
  double squares, max_abs;  // of the errors
  double worst_excess;      // over the bound
  int64_t first_not_finite, first_difference;
};

class Expectation {
 public:
  Expectation(const ConvProblem& problem, const VerifyOptions& options, DataKind kind);

  ErrorBounds bounds(double error_growth, bool exact) const;
  // True when every output has a value, rounded to f32: then a device may compare them.
  bool is_complete() const { return from_device_; }
  // The expected value of every output, by memory offset; `exact`: as it must be stored.
  std::vector<float> values(bool exact) const;
  std::span<const float> magnitudes() const { return device_.magnitudes; }  // of a complete one
  // The comparison of a result by what a device found, or nothing where there is a fault: compare() says
  // which.
  std::optional<Comparison> passed(const Findings& findings) const;

  // Whether every output is covered, by itself or by sums over blocks.
  bool covers_all() const {
    return sums_ || checked_outputs() == problem_.elements(written_role(problem_.pass));
  }
  // `written` is the whole tensor that the pass wrote, without NaN. `exact`: must be equal.
  Comparison compare(const float* written, double error_growth, bool exact) const;
  // The largest difference allowed between two runs of one plan at one element.
  double repeat_tolerance() const;
  int64_t checked_outputs() const { return static_cast<int64_t>(count()); }

 private:
  using Tensors = std::array<std::vector<float>, 3>;  // by role; the written one is empty

  bool expect_from_device(const Tensors& tensors, Device* device);
  void expect_from_cpu(const Tensors& tensors, std::span<const float> bias, const VerifyOptions& options);
  std::optional<std::string> negative_output(const float* written) const;
  void summarise();
  size_t count() const { return from_device_ ? device_.values.size() : value_.size(); }
  double value(size_t i) const { return from_device_ ? device_.values[i] : value_[i]; }
  double magnitude(size_t i) const { return from_device_ ? device_.magnitudes[i] : magnitude_[i]; }
  int64_t offset(size_t i) const { return from_device_ ? static_cast<int64_t>(i) : offset_[i]; }
  double bound(size_t i, const ErrorBounds& bounds) const;
  Comparison figures(double squares, double max_abs) const;
  double expected_value(size_t i, bool exact) const;
  std::optional<std::string> sums_fault(const float* written, bool exact) const;

  ConvProblem problem_;
  DataKind kind_;
  double gate_;
  bool from_device_ = false;
  ReferenceOutputs device_;      // of every output, where a device computed them
  std::vector<int64_t> offset_;  // in memory, of the outputs that were computed here
  std::vector<double> value_, magnitude_;
  double typical_ = 0;  // root mean square of the values, or what it is expected to be where few cancel
  double largest_magnitude_ = 0, largest_value_ = 0;
  std::optional<BlockSums> sums_;
  std::vector<double> expected_sums_;
};

}  // namespace convscope
