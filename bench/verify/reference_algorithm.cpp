#include "bench/verify/reference_algorithm.hpp"

#include <array>
#include <vector>

#include "bench/device/values.hpp"
#include "bench/verify/reference_loops.hpp"
#include "bench/verify/tensor_index.hpp"

namespace convscope {
namespace {

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(const ConvProblem& problem)
      : problem_(problem), storage_(storage_type(problem.math)) {
    if (storage_ == DataType::f32) return;
    for (Role role : kRoles) widened_[static_cast<size_t>(role)].resize(elements(role));
  }

  void run(const ConvArgs& args, Queue&) override {
    const std::array<float*, 3> tensors{values(Role::input, args.input), values(Role::filter, args.filter),
                                        values(Role::output, args.output)};
    const ReferenceLoops loops(problem_, tensors[0], tensors[1], tensors[2]);
    const Role role = written_role(problem_.pass);
    const TensorShape shape = problem_.shape(role);
    float* written = tensors[static_cast<size_t>(role)];
    const int64_t count = problem_.elements(role);
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < count; ++i)
      written[i] = static_cast<float>(loops.at(index_of_offset(shape, i)).value);
    if (storage_ != DataType::f32) store_values(args.tensor(role), storage_, {written, elements(role)});
  }

 private:
  size_t elements(Role role) const {
    return static_cast<size_t>(problem_.elements(role));
  }
  // The tensor as f32: itself, or a copy of the 16-bit values.
  float* values(Role role, void* stored) {
    if (storage_ == DataType::f32) return static_cast<float*>(stored);
    std::vector<float>& copy = widened_[static_cast<size_t>(role)];
    load_values(stored, storage_, copy);
    return copy.data();
  }

  ConvProblem problem_;
  DataType storage_;
  std::array<std::vector<float>, 3> widened_;
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

  Support supports(const ConvProblem&, const DeviceInfo&) const override { return Support::yes(); }

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
