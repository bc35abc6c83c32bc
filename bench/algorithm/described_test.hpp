// An algorithm that has a description and nothing else, for the tests of those who look no further.
#pragma once

#include <memory>
#include <utility>

#include "bench/algorithm/algorithm.hpp"

namespace convscope::testing {

// Takes every problem; none is ever planned.
class Described final : public Algorithm {
 public:
  explicit Described(AlgorithmInfo info, double error_growth = 1)
      : info_(std::move(info)), error_growth_(error_growth) {}
  const AlgorithmInfo& info() const override { return info_; }
  std::unique_ptr<Plan> plan(const ConvProblem&, Device&, const PlanOptions&) const override {
    return nullptr;
  }
  double error_growth(const ConvProblem&) const override { return error_growth_; }

 protected:
  Support takes(const ConvProblem&, const DeviceInfo&) const override { return Support::yes(); }

 private:
  AlgorithmInfo info_;
  double error_growth_;
};

}  // namespace convscope::testing
