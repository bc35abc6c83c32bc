#include "bench/verify/reference_algorithm.hpp"

#include <array>
#include <string>
#include <vector>

#include "bench/device/values.hpp"
#include "bench/verify/device_reference.hpp"
#include "bench/verify/reference.hpp"

namespace convscope {
namespace {

OperationCount operations_of_definition(const ConvProblem& problem) {
  return {problem.effective_flops(), 0, static_cast<double>(problem.total_bytes())};
}

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(const ConvProblem& problem)
      : problem_(problem), storage_(storage_type(problem.math)), sums_(elements(written_role(problem.pass))) {
    for (Role role : kRoles) tensors_[static_cast<size_t>(role)].resize(elements(role));
  }

  std::optional<OperationCount> operations() const override { return operations_of_definition(problem_); }

  void run(const ConvArgs& args, Queue&) override {
    const Role written = written_role(problem_.pass);
    for (Role role : kRoles)
      if (role != written) load_values(args.tensor(role), storage_, tensor(role));
    reference(problem_, tensor(Role::input).data(), tensor(Role::filter).data(), tensor(Role::output).data(),
              sums_, {}, args.bias);
    std::vector<float>& rounded = tensor(written);
    for (size_t i = 0; i < sums_.size(); ++i) rounded[i] = static_cast<float>(sums_[i]);
    store_values(args.tensor(written), storage_, rounded);
  }

 private:
  size_t elements(Role role) const { return static_cast<size_t>(problem_.elements(role)); }
  std::vector<float>& tensor(Role role) { return tensors_[static_cast<size_t>(role)]; }

  ConvProblem problem_;
  DataType storage_;
  std::array<std::vector<float>, 3> tensors_;  // by role, in f32
  std::vector<double> sums_;
};

class DeviceReferencePlan final : public Plan {
 public:
  DeviceReferencePlan(const ConvProblem& problem, Device& device) : problem_(problem), device_(device) {}

  std::optional<OperationCount> operations() const override { return operations_of_definition(problem_); }

  void run(const ConvArgs& args, Queue& queue) override {
    void* const written = args.tensor(written_role(problem_.pass));
    enqueue_reference(problem_,
                      {static_cast<const float*>(args.input), static_cast<const float*>(args.filter),
                       static_cast<const float*>(args.output), static_cast<float*>(written), nullptr},
                      device_, queue);
  }

 private:
  ConvProblem problem_;
  Device& device_;
};

// Of device kind cpu or cuda.
class ReferenceAlgorithm final : public Algorithm {
 public:
  ReferenceAlgorithm(DeviceKind device, const std::string& summary) {
    info_.id = "reference." + std::string(name(device));
    info_.family = "reference";
    info_.provider = "convscope";
    info_.device = device;
    info_.summary = summary;
    info_.exact_on_integers = true;
    info_.candidate = false;
    info_.takes_epilogues = device == DeviceKind::cpu;
  }
  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem& problem, const DeviceInfo&) const override {
    return require(info_.device == DeviceKind::cpu || storage_type(problem.math) == DataType::f32,
                   Reason::unsupported_math,
                   "math " + std::string(name(problem.math)) +
                       ": the reference on a GPU reads tensors that are stored in FP32 only");
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device, const PlanOptions&) const override {
    if (info_.device == DeviceKind::cpu) return std::make_unique<ReferencePlan>(problem);
    return std::make_unique<DeviceReferencePlan>(problem, device);
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace

void add_reference(Registry& registry) {
  registry.add(
      std::make_unique<ReferenceAlgorithm>(DeviceKind::cpu, "seven loops with sums in f64: the definition"));
}

void add_device_reference(Registry& registry) {
  registry.add(std::make_unique<ReferenceAlgorithm>(
      DeviceKind::cuda, "the definition on a GPU: one thread per output, sums in f64"));
}

}  // namespace convscope
