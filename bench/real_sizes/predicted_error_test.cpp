// The rounding error of the longest FP32 sum of every plan of every shipped layer, told from the plan alone:
// no kernel runs. The rows that do not say how long their sums are are listed by name.
#include "bench/algorithm/predicted_error.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "algorithms/catalog.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/real_sizes/shipped_cases.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::real_sizes {
namespace {

// Families whose plans do not override Plan::longest_sum() yet.
const std::set<std::string> kSilent{"direct", "gemm", "implicit_gemm"};

class PredictedError : public testing::TestWithParam<DeviceKind> {
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
  const double most = kPredictedPartOfGate * accuracy_gate(MathMode::fp32);
  std::set<std::string> silent;
  size_t plans = 0;
  struct Worst {
    double error = 0, sum = 0;
    std::string text;
    size_t above = 0;
  };
  std::map<std::string, Worst> worst;
  const auto problems = shipped_problems(GetParam());
  for (const ShippedProblem& shipped : problems)
    for (const Algorithm* algorithm : rows(registry_, GetParam())) {
      for_each_plan(
          shipped, shipped.problem, *algorithm, *device_, 2, [&](const Case& what, const Plan& plan) {
            ++plans;
            if (plan.longest_sum() <= 0) {
              silent.insert(algorithm->info().family);
              return;
            }
            const double error = predicted_error(plan.longest_sum(), algorithm->sum_growth(what.problem));
            Worst& of_row = worst[algorithm->info().id];
            of_row.above += error < most ? 0 : 1;
            if (error <= of_row.error) return;
            of_row = {error, plan.longest_sum(), what.text() + ": " + plan.implementation(), of_row.above};
          });
    }
  for (const auto& [id, of_row] : worst) {
    RecordProperty(id, fmt::format("{:.2e} {}", of_row.error, of_row.text));
    EXPECT_LT(of_row.error, most) << of_row.above << " plans, the worst a sum of " << of_row.sum
                                  << " terms: " << of_row.text;
  }
  EXPECT_GT(plans, problems.size());
  EXPECT_FALSE(worst.empty());
  EXPECT_THAT(kSilent, testing::IsSupersetOf(silent));
}

INSTANTIATE_TEST_SUITE_P(Devices, PredictedError, testing::Values(DeviceKind::cpu, DeviceKind::cuda),
                         [](const auto& suite) { return std::string(name(suite.param)); });

}  // namespace
}  // namespace convscope::real_sizes
