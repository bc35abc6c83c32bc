#include "bench/verify/reference_algorithm.hpp"

#include "bench/verify/reference_loops.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(const ConvProblem& problem) : problem_(problem) {}

  void run(const ConvArgs& args, Queue&) override {
    const ReferenceLoops loops(problem_, static_cast<const float*>(args.input),
                               static_cast<const float*>(args.filter),
                               static_cast<const float*>(args.output));
    const Role role = written_role(problem_.pass);
    const TensorShape shape = problem_.shape(role);
    auto* written = static_cast<float*>(role == Role::input    ? args.input
                                        : role == Role::filter ? args.filter
                                                               : args.output);
    const int64_t count = problem_.elements(role);
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < count; ++i)
      written[i] = static_cast<float>(loops.at(index_of_offset(shape, i)).value);
  }

 private:
  ConvProblem problem_;
};

class ReferenceAlgorithm final : public Algorithm {
 public:
  ReferenceAlgorithm() {
    info_.id = "reference.cpu";
    info_.family = "reference";
    info_.provider = "convscope";
    info_.summary = "seven loops with sums in f64: the definition";
    info_.exact_on_integers = true;
    info_.candidate = false;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support supports(const ConvProblem& problem, const DeviceInfo&) const override {
    if (problem.math != MathMode::fp32)
      return Support::no(Reason::unsupported_math, "math " + std::string(name(problem.math)) +
                                                       ": the reference reads FP32 tensors only");
    return Support::yes();
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions&) const override {
    return std::make_unique<ReferencePlan>(problem);
  }

  std::optional<OperationCount> operations(const ConvProblem& problem) const override {
    return OperationCount{problem.effective_flops(), 0, static_cast<double>(problem.total_bytes())};
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace

void add_reference(Registry& registry) {
  registry.add(std::make_unique<ReferenceAlgorithm>());
}

}  // namespace convscope
