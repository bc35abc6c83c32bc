// The rounding error of the longest FP32 sum of every plan of every shipped layer, told from the plan alone:
// no kernel runs.
#include "bench/algorithm/predicted_error.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "algorithms/catalog.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/real_sizes/shipped_cases.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::real_sizes {
namespace {

class PredictedError : public ::testing::TestWithParam<DeviceKind> {
 protected:
  PredictedError() {
    register_all(registry_);
    if (GetParam() == DeviceKind::cpu)
      device_ = std::make_unique<CpuDevice>();
    else
      device_ = std::make_unique<EmulatorDevice>();
  }

  Registry registry_;
  std::unique_ptr<Device> device_;
};

TEST_P(PredictedError, OfEveryShippedLayerIsBelowItsPartOfTheGate) {
  struct Worst {
    double part = 0;  // of the gate
    std::string text;
    size_t above = 0, silent = 0;
  };
  std::map<std::string, Worst> worst;
  const auto look = [&](const Case& what, const Plan& plan) {
    Worst& of_variant = worst[what.algorithm->info().id + " in " + std::string(name(what.problem.math))];
    if (plan.longest_sum() <= 0) ++of_variant.silent;
    const double error = predicted_error(plan.longest_sum(), what.algorithm->sum_growth(what.problem)) +
                         plan.truncation_error();
    const double part = error / accuracy_gate(what.problem.math);
    of_variant.above += part < kPredictedPartOfGate ? 0 : 1;
    if (part <= of_variant.part) return;
    of_variant.part = part;
    of_variant.text = what.text() + ": " + plan.implementation();
  };
  for_each_plan(registry_, *device_, 2, look);
  for (const auto& [variant, of_variant] : worst) {
    RecordProperty(variant, fmt::format("{:.3f} of the gate, {}", of_variant.part, of_variant.text));
    EXPECT_LT(of_variant.part, kPredictedPartOfGate)
        << of_variant.above << " plans, the worst " << of_variant.text;
    EXPECT_EQ(of_variant.silent, 0u) << variant << ": plans that do not say how long their sums are";
  }
  for (const Algorithm* algorithm : own_algorithms(registry_, GetParam()))
    EXPECT_THAT(worst, ::testing::Contains(::testing::Key(::testing::StartsWith(algorithm->info().id))));
}

INSTANTIATE_TEST_SUITE_P(Devices, PredictedError, ::testing::Values(DeviceKind::cpu, DeviceKind::cuda),
                         [](const auto& suite) { return std::string(name(suite.param)); });

}  // namespace
}  // namespace convscope::real_sizes
