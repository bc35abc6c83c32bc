#include "bench/verify/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "bench/device/values.hpp"
#include "bench/verify/device_comparison.hpp"
#include "bench/verify/tensor_data.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

// Unlikely as a result, exact in every storage type.
constexpr float kConstant = 12352.0f;

constexpr int64_t kNone = INT64_MAX;

// The lowest i below `count` for which `is_fault(i)`, or nothing.
template <typename Fault>
std::optional<int64_t> first_fault(int64_t count, const Fault& is_fault) {
  int64_t first = kNone;
#pragma omp parallel for if (count > 4096) reduction(min : first)
  for (int64_t i = 0; i < count; ++i)
    if (is_fault(i)) first = std::min(first, i);
  if (first == kNone) return std::nullopt;
  return first;
}

}  // namespace

ReadTensors::ReadTensors(const ConvProblem& problem, DataKind kind, uint64_t seed)
    : bias(bias_data(problem, kind, seed)) {
  for (Role role : read_roles(problem.pass))
    values[static_cast<size_t>(role)] = TensorData(problem, role, kind, seed).generate();
}

Trial::Trial(const ConvProblem& problem, const ReadTensors& read, Plan& plan, Buffer& workspace,
             Device& device, Queue& queue, const OnDevice& on_device)
    : problem_(problem),
      written_(written_role(problem.pass)),
      storage_(storage_type(problem.math)),
      read_(read),
      plan_(plan),
      workspace_(workspace),
      queue_(queue),
      on_device_(on_device),
      operands_{Buffer(device, static_cast<size_t>(problem.bytes(Role::input))),
                Buffer(device, static_cast<size_t>(problem.bytes(Role::filter))),
                Buffer(device, static_cast<size_t>(problem.bytes(Role::output))),
                bias_buffer(read.bias, device)} {
  for (Role role : read_roles(problem.pass)) {
    if (on_device_.comparison != nullptr)
      on_device_.comparison->copy_original(role, tensor(role).data(), queue_);
    else
      upload_values(tensor(role), storage_, read_.values[static_cast<size_t>(role)]);
  }
  workspace_.fill_with_nan();
  prepare();
}

void Trial::prepare() {
  if (plan_.has_prepare()) plan_.prepare(operands_.args(workspace_.data()), queue_);
}

Buffer& Trial::tensor(Role role) {
  return role == Role::input ? operands_.input : role == Role::filter ? operands_.filter : operands_.output;
}

std::string Trial::element(int64_t offset) const {
  return element_name(written_, index_of_offset(problem_.shape(written_), offset));
}

void Trial::execute(Before before) {
  Buffer& written = tensor(written_);
  if (before == Before::nan) written.fill_with_nan();
  if (before == Before::constant) {
    const auto elements = static_cast<size_t>(problem_.elements(written_));
    upload_values(written, storage_, std::vector<float>(elements, kConstant));
  }
  plan_.run(operands_.args(workspace_.data()), queue_);
  queue_.synchronize();
  is_downloaded_ = false;
}

const std::vector<float>& Trial::result() const {
  if (is_downloaded_) return result_;
  result_.resize(static_cast<size_t>(problem_.elements(written_)));
  download_values(tensor(written_), storage_, result_);
  is_downloaded_ = true;
  return result_;
}

std::vector<float> Trial::first_result() const {
  return on_device_.comparison != nullptr ? on_device_.comparison->first_result() : result();
}

std::optional<std::string> Trial::run(Before before) {
  ++runs_;
  execute(before);
  auto fault = broken_guard();
  if (!fault) fault = changed_tensor();
  if (!fault) fault = changed_bias();
  if (fault) {
    contained_ = false;
    return fault;
  }
  if (auto offset = first_not_finite()) return explain_not_finite(*offset);
  return std::nullopt;
}

std::optional<std::string> Trial::broken_guard() const {
  for (Role role : kRoles)
    if (!tensor(role).guards_intact()) return fmt::format("writes outside the {} buffer", name(role));
  if (!read_.bias.empty() && !operands_.bias.guards_intact()) return "writes outside the bias";
  if (!workspace_.guards_intact())
    return fmt::format("writes outside the workspace of {} bytes", workspace_.bytes());
  return std::nullopt;
}

bool Trial::is_changed(Role role) const {
  if (on_device_.comparison == nullptr) return true;  // to be seen on the host
  return on_device_.comparison->first_change(role, tensor(role).data(), queue_).has_value();
}

std::optional<std::string> Trial::changed_tensor() const {
  for (Role role : read_roles(problem_.pass)) {
    if (!is_changed(role)) continue;
    const std::vector<float>& before = read_.values[static_cast<size_t>(role)];
    std::vector<float> now(before.size());
    download_values(tensor(role), storage_, now);
    const auto changed = first_fault(static_cast<int64_t>(now.size()), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      return std::bit_cast<uint32_t>(now[at]) != std::bit_cast<uint32_t>(before[at]);
    });
    if (!changed) continue;
    return fmt::format("writes into its {}, which it may only read: {} was {} and is {}", name(role),
                       element_name(role, index_of_offset(problem_.shape(role), *changed)),
                       before[static_cast<size_t>(*changed)], now[static_cast<size_t>(*changed)]);
  }
  return std::nullopt;
}

std::optional<std::string> Trial::changed_bias() const {
  if (read_.bias.empty()) return std::nullopt;
  std::vector<float> now(read_.bias.size());
  download_values(operands_.bias, DataType::f32, now);
  for (size_t k = 0; k < now.size(); ++k)
    if (now[k] != read_.bias[k])
      return fmt::format("writes into its bias, which it may only read: that of channel {} was {} and is {}",
                         k, read_.bias[k], now[k]);
  return std::nullopt;
}

std::optional<int64_t> Trial::first_not_finite() {
  if (on_device_.comparison != nullptr) {
    const void* written = tensor(written_).data();
    findings_ = runs_ == 1 ? on_device_.comparison->judge_first(written, on_device_.bounds, queue_)
                           : on_device_.comparison->judge_repeated(written, on_device_.bounds, queue_);
    if (findings_->first_not_finite == Findings::kNone) return std::nullopt;
    return findings_->first_not_finite;
  }
  const std::vector<float>& now = result();
  return first_fault(static_cast<int64_t>(now.size()),
                     [&](int64_t i) { return !std::isfinite(now[static_cast<size_t>(i)]); });
}

// Runs again on other contents to tell apart the three causes.
std::string Trial::explain_not_finite(int64_t offset) {
  const auto at = static_cast<size_t>(offset);
  const float found = result()[at];
  execute(Before::constant);
  if (result()[at] == kConstant)
    return fmt::format("leaves {} unwritten: it still holds what was there before", element(offset));
  if (std::isfinite(result()[at]))
    return fmt::format("reads its output: {} is {} when the output held NaN before and {} when it held {}",
                       element(offset), found, result()[at], kConstant);
  std::vector<std::byte> zeros(workspace_.bytes());
  workspace_.upload(zeros.data(), zeros.size());
  prepare();
  execute(Before::nan);
  if (std::isfinite(result()[at]))
    return fmt::format(
        "reads its workspace before writing it: {} is {} when the workspace held NaN before "
        "and {} when it held 0",
        element(offset), found, result()[at]);
  return fmt::format("{} is {}", element(offset), found);
}

std::optional<std::string> Trial::difference(const std::vector<float>& earlier, double tolerance) const {
  const std::vector<float>& now = result();
  const auto differs = first_fault(static_cast<int64_t>(now.size()), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return !(std::abs(static_cast<double>(now[at]) - earlier[at]) <= tolerance);
  });
  if (!differs) return std::nullopt;
  const auto at = static_cast<size_t>(*differs);
  return fmt::format("{} was {:.9g} and is {:.9g}", element(*differs), earlier[at], now[at]);
}

bool Trial::depends_on_output(const std::vector<float>& right, double tolerance) {
  // Twice, so that a plan that is wrong every second time is not taken for one that reads its output.
  for (int run = 0; run < 2; ++run) {
    execute(Before::nan);
    if (difference(right, tolerance)) return false;
  }
  execute(Before::old_result);
  return difference(right, tolerance).has_value();
}

}  // namespace convscope
