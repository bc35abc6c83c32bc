#include "bench/verify/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "bench/core/random.hpp"
#include "bench/device/values.hpp"
#include "bench/verify/device_reference.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/tensor_data.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

// With more outputs even a cheap problem is sampled, to bound memory.
constexpr int64_t kMaxFullOutputs = int64_t{1} << 20;
// The same where a GPU computes the reference: 2 GiB of the host's memory for each kind of data.
constexpr int64_t kMaxDeviceOutputs = int64_t{1} << 28;
// Multiply-adds that the reference may spend on one kind of data: for the sums, and for the sample beyond
// kMinSample.
constexpr double kSumMultiplyAdds = 1e8;
constexpr double kSampleMultiplyAdds = 5e7;

// Largest single error allowed, in units of gate times typical value. Errors at the gate that are spread like
// a normal distribution stay below 7 even over 10^11 outputs.
constexpr double kOutlier = 20;
// The same for a sum over a block with random signs, whose error is sqrt(block) times an element's.
constexpr double kSumOutlier = 10;
// Operations of an algorithm's transforms that are charged like terms of the sum.
constexpr double kTransformTerms = 64;

// Relative error of one value in the mode's format: of an operand where the tensors are f32, of the result
// where they are stored in 16 bits (their operands hold such values already).
double operand_rounding(MathMode math) {
  switch (math) {
    case MathMode::fp32:
    case MathMode::tf32x3:
      return 0;
    case MathMode::tf32:
    case MathMode::fp16:
      return 0x1p-11;
    case MathMode::bf16:
      return 0x1p-9;
  }
  return 0;
}

// The dot-product bound of any order of summation, gamma_n (Higham, Accuracy and Stability, section 3.1).
double relative_bound(const ConvProblem& problem) {
  const double nu = (static_cast<double>(reduction_length(problem)) + kTransformTerms) * 0x1p-24;
  const double gamma = nu < 0.5 ? nu / (1 - nu) : 1.0;
  return gamma + 2 * operand_rounding(problem.math);
}

int64_t sample_size(const ConvProblem& problem, const VerifyOptions& options) {
  const auto affordable =
      static_cast<int64_t>(kSampleMultiplyAdds / static_cast<double>(reduction_length(problem)));
  return std::min(options.sampled_outputs, std::max(affordable, kMinSample));
}

}  // namespace

double accuracy_gate(MathMode math) {
  switch (math) {
    case MathMode::fp32:
    case MathMode::tf32x3:
      return 2e-5;
    case MathMode::tf32:
    case MathMode::fp16:
      return 1e-3;
    case MathMode::bf16:
      return 8e-3;
  }
  return 0;
}

Expectation::Expectation(const ConvProblem& problem, const VerifyOptions& options, DataKind kind)
    : problem_(problem), kind_(kind), gate_(accuracy_gate(problem.math)) {
  Tensors tensors;
  for (Role role : read_roles(problem.pass))
    tensors[static_cast<size_t>(role)] = TensorData(problem, role, kind, options.seed).generate();
  from_device_ = expect_from_device(tensors, options.reference_device);
  if (!from_device_) expect_from_cpu(tensors, bias_data(problem, kind, options.seed), options);
  summarise();
}

// Every output; false where no device is given, its memory is too small or there is an epilogue, of which its
// reference knows nothing.
bool Expectation::expect_from_device(const Tensors& tensors, Device* device) {
  if (device == nullptr || problem_.epilogue != Epilogue::none) return false;
  if (problem_.elements(written_role(problem_.pass)) > kMaxDeviceOutputs) return false;
  try {
    device_ = reference_outputs(problem_, tensors, *device);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Every output, or a sample and sums over blocks of channels. What ReLU has cut off does not add up to what
// the convolution's linearity predicts, so that sums need data of which it cuts off nothing.
void Expectation::expect_from_cpu(const Tensors& tensors, std::span<const float> bias,
                                  const VerifyOptions& options) {
  const float *input = tensors[0].data(), *filter = tensors[1].data(), *output = tensors[2].data();
  const Role written = written_role(problem_.pass);
  const TensorShape shape = problem_.shape(written);
  const bool all =
      problem_.nominal_flops() <= options.full_check_flops && problem_.elements(written) <= kMaxFullOutputs;
  const std::vector<TensorIndex> indices =
      all ? all_outputs(problem_) : sample_outputs(problem_, sample_size(problem_, options), options.seed);
  const auto count = static_cast<int64_t>(indices.size());
  offset_.resize(indices.size());
  value_.resize(indices.size());
  magnitude_.resize(indices.size());
  const FastReference fast(problem_, input, filter, output);
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const ReferenceSum sum = with_epilogue(fast.at(indices[at]), problem_.epilogue,
                                           bias.empty() ? 0 : bias[static_cast<size_t>(indices[at][1])]);
    offset_[at] = offset_of(shape, indices[at]);
    value_[at] = sum.value;
    magnitude_[at] = sum.magnitude;
  }
  if (!all && (kind_ == DataKind::positive || !has_relu(problem_.epilogue))) {
    sums_.emplace(problem_, block_for_cost(problem_, kSumMultiplyAdds), random_bits(options.seed, 0xb1));
    expected_sums_ = sums_->expected(input, filter, output, bias);
  }
}

void Expectation::summarise() {
  double squares = 0, magnitude_squares = 0;
  for (size_t i = 0; i < count(); ++i) {
    squares += value(i) * value(i);
    magnitude_squares += magnitude(i) * magnitude(i);
    largest_value_ = std::max(largest_value_, std::abs(value(i)));
    largest_magnitude_ = std::max(largest_magnitude_, magnitude(i));
  }
  // A sum of n terms of random sign is about its magnitude over sqrt(n); smaller only by chance, where there
  // are few outputs.
  const auto terms = static_cast<double>(reduction_length(problem_));
  typical_ = std::sqrt(std::max(squares, magnitude_squares / terms) / static_cast<double>(count()));
}

ErrorBounds Expectation::bounds(double error_growth, bool exact) const {
  ErrorBounds bounds;
  bounds.exact = exact;
  bounds.relative = relative_bound(problem_);
  // Transforms mix the elements of a tile, so their errors do not shrink with an output's own terms.
  bounds.has_one_magnitude = error_growth > 1;
  bounds.one_magnitude = largest_magnitude_ * error_growth;
  bounds.max = bounds.repeat_tolerance = repeat_tolerance();
  return bounds;
}

double Expectation::bound(size_t i, const ErrorBounds& bounds) const {
  if (bounds.exact) return 0;
  const double size = bounds.has_one_magnitude ? bounds.one_magnitude : magnitude(i);
  return std::min(bounds.relative * size, bounds.max);
}

std::vector<float> Expectation::values(bool exact) const {
  std::vector<float> values(count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(expected_value(i, exact));
  return values;
}

Comparison Expectation::figures(double squares, double max_abs) const {
  Comparison result;
  result.max_abs = max_abs;
  const double norm = typical_ * std::sqrt(static_cast<double>(count()));
  result.relative_l2 = std::sqrt(squares) / (norm > 0 ? norm : 1);
  result.max_relative = max_abs / (largest_value_ > 0 ? largest_value_ : 1);
  return result;
}

std::optional<Comparison> Expectation::passed(const Findings& findings) const {
  if (findings.first_not_finite != Findings::kNone || findings.worst_excess > 0) return std::nullopt;
  const Comparison result = figures(findings.squares, findings.max_abs);
  if (result.relative_l2 > gate_) return std::nullopt;
  return result;
}

// An exact sum is rounded once, when it is stored.
double Expectation::expected_value(size_t i, bool exact) const {
  return exact ? rounded_to(storage_type(problem_.math), static_cast<float>(value(i))) : value(i);
}

double Expectation::repeat_tolerance() const {
  return kOutlier * gate_ * typical_;
}

Comparison Expectation::compare(const float* written, double error_growth, bool exact) const {
  const Role role = written_role(problem_.pass);
  const TensorShape shape = problem_.shape(role);
  const ErrorBounds allowed = bounds(error_growth, exact);
  double squares = 0, worst_excess = 0, max_abs = 0;
  const auto error_at = [&](size_t i) {
    return std::abs(static_cast<double>(written[offset(i)]) - expected_value(i, exact));
  };
  const auto excess = [&](size_t i) { return error_at(i) - bound(i, allowed); };
  const int64_t outputs = checked_outputs();
#pragma omp parallel for if (outputs > (1 << 20)) reduction(+ : squares) reduction(max : max_abs, worst_excess)
  for (int64_t i = 0; i < outputs; ++i) {
    const auto at = static_cast<size_t>(i);
    const double error = error_at(at);
    squares += error * error;
    max_abs = std::max(max_abs, error);
    worst_excess = std::max(worst_excess, excess(at));
  }
  Comparison result = figures(squares, max_abs);
  if (has_relu(problem_.epilogue)) result.fault = negative_output(written);
  if (result.fault) return result;

  // Farthest over its bound; with all of them below, and the gate exceeded, farthest off.
  size_t worst = 0;
  if (worst_excess > 0)
    while (excess(worst) < worst_excess) ++worst;
  else if (result.relative_l2 > gate_)
    while (error_at(worst) < max_abs) ++worst;
  const std::string where = element_name(role, index_of_offset(shape, offset(worst)));
  if (exact && worst_excess > 0)
    result.fault = fmt::format(
        "whole-number data must come out exactly, but {} is {} instead of {} (largest error {:.3g})", where,
        written[offset(worst)], expected_value(worst, exact), result.max_abs);
  else if (worst_excess > 0)
    result.fault = fmt::format(
        "{} is {:.9g} instead of {:.9g}: the error is {:.3g}, the bound {:.3g} (relative L2 error {:.3g})",
        where, written[offset(worst)], value(worst), worst_excess + bound(worst, allowed),
        bound(worst, allowed), result.relative_l2);
  else if (result.relative_l2 > gate_)
    result.fault =
        fmt::format("the relative L2 error is {:.3g}, the gate for {} is {:.3g} (worst at {}, off by {:.3g})",
                    result.relative_l2, name(problem_.math), gate_, where, result.max_abs);
  else
    result.fault = sums_fault(written, exact);
  return result;
}

// ReLU shows in every output, whether it is in the sample or not.
std::optional<std::string> Expectation::negative_output(const float* written) const {
  const Role role = written_role(problem_.pass);
  const float* const end = written + problem_.elements(role);
  const float* const found = std::find_if(written, end, [](float value) { return value < 0; });
  if (found == end) return std::nullopt;
  const TensorIndex at = index_of_offset(problem_.shape(role), found - written);
  return fmt::format("{} is {}, and ReLU leaves nothing below zero", element_name(role, at), *found);
}

std::optional<std::string> Expectation::sums_fault(const float* written, bool exact) const {
  if (!sums_) return std::nullopt;
  const std::vector<double> sums = sums_->of_result(written);
  // Stored in 16 bits, exact elements are rounded and their sums no longer exact.
  const bool exact_sums = exact && storage_type(problem_.math) == DataType::f32;
  const double tolerance =
      exact_sums ? 0 : kSumOutlier * gate_ * typical_ * std::sqrt(static_cast<double>(sums_->block()));
  size_t worst = 0;
  double worst_error = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double error = std::abs(sums[i] - expected_sums_[i]);
    if (error > worst_error) {
      worst_error = error;
      worst = i;
    }
  }
  if (worst_error <= tolerance) return std::nullopt;
  return fmt::format(
      "an element outside the sample is wrong: the signed sum of {} is off by {:.6g} (allowed {:.3g})",
      sums_->describe(worst), worst_error, tolerance);
}

}  // namespace convscope
