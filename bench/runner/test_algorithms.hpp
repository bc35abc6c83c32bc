// Algorithms for the tests of bench/runner, each made of what the test wants to happen. Not here: those that
// end the process (bench/cli/faulty).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "bench/algorithm/algorithm.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope::testing {

struct Behaviour {
  Support support = Support::yes();
  int64_t workspace_bytes = 0;
  std::function<void()> in_plan = [] {};
  std::function<void(int run)> in_run = [](int) {};  // runs are counted from 0
  std::function<float(int run, float value)> result = [](int, float value) { return value; };
  bool candidate = true;
  bool overruns = false;  // writes one element past its output
};

class TestPlan final : public Plan {
 public:
  TestPlan(const ConvProblem& problem, Behaviour behaviour)
      : problem_(problem), behaviour_(std::move(behaviour)) {}
  int64_t workspace_bytes() const override { return behaviour_.workspace_bytes; }
  std::string implementation() const override { return "loops"; }
  std::optional<OperationCount> operations() const override {
    return OperationCount{problem_.nominal_flops(), 0, 0};
  }
  // Forward only.
  void run(const ConvArgs& args, Queue&) override {
    behaviour_.in_run(runs_);
    const auto* x = static_cast<const float*>(args.input);
    const auto* w = static_cast<const float*>(args.filter);
    const TensorShape shape = problem_.shape(Role::output);
    for (int64_t n = 0; n < shape.size[0]; ++n)
      for (int64_t k = 0; k < shape.size[1]; ++k)
        for (int64_t p = 0; p < shape.size[2]; ++p)
          for (int64_t q = 0; q < shape.size[3]; ++q)
            static_cast<float*>(args.output)[shape.offset(n, k, p, q)] = behaviour_.result(
                runs_, static_cast<float>(reference_element(problem_, x, w, nullptr, {n, k, p, q})));
    if (behaviour_.overruns) static_cast<float*>(args.output)[problem_.elements(Role::output)] = 0;
    ++runs_;
  }

 private:
  ConvProblem problem_;
  Behaviour behaviour_;
  int runs_ = 0;
};

class TestAlgorithm final : public Algorithm {
 public:
  TestAlgorithm(const std::string& id, Behaviour behaviour) : behaviour_(std::move(behaviour)) {
    info_.id = id;
    info_.family = "direct";
    info_.provider = "convscope";
    info_.candidate = behaviour_.candidate;
  }
  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem&, const DeviceInfo&) const override { return behaviour_.support; }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions&) const override {
    behaviour_.in_plan();
    return std::make_unique<TestPlan>(problem, behaviour_);
  }

 private:
  AlgorithmInfo info_;
  Behaviour behaviour_;
};

}  // namespace convscope::testing
