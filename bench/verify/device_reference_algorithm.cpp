#include <string>

#include "bench/verify/device_reference.hpp"
#include "bench/verify/reference_algorithm.hpp"

namespace convscope {
namespace {

class DeviceReferencePlan final : public Plan {
 public:
  DeviceReferencePlan(const ConvProblem& problem, Device& device) : problem_(problem), device_(device) {}

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

class DeviceReferenceAlgorithm final : public Algorithm {
 public:
  DeviceReferenceAlgorithm() {
    info_.id = "reference.cuda";
    info_.family = "reference";
    info_.provider = "convscope";
    info_.device = DeviceKind::cuda;
    info_.summary = "the definition on a GPU: one thread an output, sums in f64";
    info_.exact_on_integers = true;
    info_.candidate = false;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support supports(const ConvProblem& problem, const DeviceInfo&) const override {
    if (storage_type(problem.math) != DataType::f32)
      return Support::no(Reason::unsupported_math,
                         "math " + std::string(name(problem.math)) +
                             ": the reference on a GPU reads tensors that are stored in FP32 only");
    return Support::yes();
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device, const PlanOptions&) const override {
    return std::make_unique<DeviceReferencePlan>(problem, device);
  }

  std::optional<OperationCount> operations(const ConvProblem& problem) const override {
    return OperationCount{problem.effective_flops(), 0, static_cast<double>(problem.total_bytes())};
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace

void add_device_reference(Registry& registry) {
  registry.add(std::make_unique<DeviceReferenceAlgorithm>());
}

}  // namespace convscope
