#include "bench/verify/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "bench/verify/device_comparison.hpp"
#include "bench/verify/expectation.hpp"
#include "bench/verify/tensor_data.hpp"
#include "bench/verify/trial.hpp"

namespace convscope {

struct Verification::Impl {
  ConvProblem problem;
  VerifyOptions options;
  // What one kind of data holds and gives.
  struct Data {
    Data(const ConvProblem& problem, const VerifyOptions& options, DataKind kind)
        : expected(problem, options, kind), read(problem, kind, options.seed) {}
    Expectation expected;
    ReadTensors read;
    std::unique_ptr<DeviceComparison> on_device;  // made when first needed
  };
  Data uniform;
  std::optional<Data> integers;  // made for the first algorithm that promises to be exact on them
  std::optional<Data> positive;  // where uniform data do not cover every output

  Data& data(DataKind kind) {
    if (kind == DataKind::integers && !integers) integers.emplace(problem, options, kind);
    return kind == DataKind::integers ? *integers : kind == DataKind::uniform ? uniform : positive.value();
  }
  Accuracy unchecked() const;
  void record(DataKind kind, const Comparison& comparison, Accuracy& accuracy) const;
  std::optional<std::string> check_kind(DataKind kind, const Algorithm& algorithm, Plan& plan,
                                        Buffer& workspace, Device& device, Queue& queue, bool twice,
                                        Verdict& verdict);
  DeviceComparison* comparison_on(Device& device, DataKind kind);
  std::optional<std::string> check_second_run(Trial& trial, double error_growth) const;
};

VerificationMemory verification_memory(const ConvProblem& problem) {
  constexpr int64_t float_bytes = sizeof(float);
  int64_t read = 0, largest_read = 0;
  for (Role role : read_roles(problem.pass)) {
    read += problem.elements(role) * float_bytes;
    largest_read = std::max(largest_read, problem.elements(role) * float_bytes);
  }
  const int64_t written = problem.elements(written_role(problem.pass)) * float_bytes;
  // Held: what is read, in every kind of data. In a check: the operands, the results of two runs, and one
  // tensor that was read, to see whether it still is what it was.
  const int64_t kinds = has_relu(problem.epilogue) ? 3 : 2;
  return {kinds * read, problem.total_bytes() + 2 * written + largest_read};
}

Verification::Verification(const ConvProblem& problem, const VerifyOptions& options)
    : impl_(new Impl{problem, options, {problem, options, DataKind::uniform}, {}, {}}) {
  if (!impl_->uniform.expected.covers_all()) impl_->positive.emplace(problem, options, DataKind::positive);
}

Verification::~Verification() = default;

Accuracy Verification::Impl::unchecked() const {
  Accuracy accuracy;
  accuracy.gate = accuracy_gate(problem.math);
  accuracy.total_outputs = problem.elements(written_role(problem.pass));
  return accuracy;
}

void Verification::Impl::record(DataKind kind, const Comparison& comparison, Accuracy& accuracy) const {
  if (kind == DataKind::integers) accuracy.integers_exact = !comparison.fault;
  if (kind != DataKind::uniform) return;
  accuracy.relative_l2 = comparison.relative_l2;
  accuracy.max_abs = comparison.max_abs;
  accuracy.max_relative = comparison.max_relative;
  accuracy.checked_outputs = uniform.expected.checked_outputs();
}

// Null where the host compares: expected values that are a sample or the CPU's, another device than the one
// that computed them, or one whose memory does not hold a check besides.
DeviceComparison* Verification::Impl::comparison_on(Device& device, DataKind kind) {
  Data& of = data(kind);
  if (options.reference_device != &device || !of.expected.is_complete()) return nullptr;
  std::unique_ptr<DeviceComparison>& comparison = of.on_device;
  try {
    if (!comparison)
      comparison = std::make_unique<DeviceComparison>(problem, kind, of.expected, of.read, device);
  } catch (const std::bad_alloc&) {
  }
  if (comparison && device.usable_bytes() < problem.total_bytes()) comparison.reset();
  return comparison.get();
}

std::optional<std::string> Verification::Impl::check_kind(DataKind kind, const Algorithm& algorithm,
                                                          Plan& plan, Buffer& workspace, Device& device,
                                                          Queue& queue, bool twice, Verdict& verdict) {
  const double error_growth = algorithm.error_growth(problem);
  const bool exact = kind == DataKind::integers;  // which are for algorithms that promise it
  const Expectation& expected = data(kind).expected;
  Trial trial(problem, data(kind).read, plan, workspace, device, queue,
              {comparison_on(device, kind), expected.bounds(error_growth, exact)});
  const auto misbehaved = trial.run(Before::nan);
  verdict.contained = trial.contained();
  if (misbehaved) return misbehaved;
  const auto passed = trial.findings() ? expected.passed(*trial.findings()) : std::nullopt;
  const Comparison comparison =
      passed ? *passed : expected.compare(trial.result().data(), error_growth, exact);
  record(kind, comparison, verdict.accuracy);
  if (comparison.fault) return comparison.fault;
  if (!twice) return std::nullopt;
  const auto fault = check_second_run(trial, error_growth);
  verdict.contained = trial.contained();
  return fault;
}

// On uniform data. The second run follows without another prepare, over the first result, so that sums into
// the output show. (An element that is written only once shows on the next data, where the output is NaN
// again.)
std::optional<std::string> Verification::Impl::check_second_run(Trial& trial, double error_growth) const {
  const Expectation& expected = uniform.expected;
  const double tolerance = expected.repeat_tolerance();
  const bool on_host = !trial.findings();
  std::vector<float> first;
  if (on_host) first = trial.first_result();
  auto fault = trial.run(Before::old_result);
  if (fault) return "on the second run: " + *fault;
  if (!on_host) {
    const Findings& findings = *trial.findings();
    if (findings.first_difference == Findings::kNone && expected.passed(findings)) return std::nullopt;
    first = trial.first_result();
  }
  fault = trial.difference(first, tolerance);
  if (!fault) fault = expected.compare(trial.result().data(), error_growth, false).fault;
  if (!fault) return std::nullopt;
  if (trial.depends_on_output(first, tolerance))
    return "reads its output: on a second run over the first result, " + *fault;
  return "the second run differs from the first: " + *fault;
}

void Verification::release_device() {
  impl_->uniform.on_device.reset();
  if (impl_->integers) impl_->integers->on_device.reset();
  if (impl_->positive) impl_->positive->on_device.reset();
}

Verdict Verification::check(const Algorithm& algorithm, Plan& plan, Device& device, Queue& queue) {
  Verdict verdict;
  verdict.accuracy = impl_->unchecked();
  // Before the workspace takes memory of a device that computes what is expected.
  if (algorithm.info().exact_on_integers) impl_->data(DataKind::integers);
  Buffer workspace(device, static_cast<size_t>(plan.workspace_bytes()));
  for (DataKind kind : kDataKinds) {
    // Whole numbers tell nothing more about an algorithm that rounds them.
    if (kind == DataKind::integers && !algorithm.info().exact_on_integers) continue;
    if (kind == DataKind::positive && !impl_->positive) continue;
    const bool twice = kind == DataKind::uniform;  // once is enough of the other kinds
    const auto fault = impl_->check_kind(kind, algorithm, plan, workspace, device, queue, twice, verdict);
    if (!fault) continue;
    verdict.reason = Reason::accuracy;
    verdict.note = fmt::format("{} ({} data)", *fault, name(kind));
    break;
  }
  return verdict;
}

Verdict Verification::check_again(const Algorithm& algorithm, Plan& plan, Device& device, Queue& queue) {
  Verdict verdict;
  verdict.accuracy = impl_->unchecked();
  Buffer workspace(device, static_cast<size_t>(plan.workspace_bytes()));
  const auto fault =
      impl_->check_kind(DataKind::uniform, algorithm, plan, workspace, device, queue, false, verdict);
  if (fault) {
    verdict.reason = Reason::accuracy;
    verdict.note = *fault + " (checked again after timing)";
  }
  return verdict;
}

}  // namespace convscope
