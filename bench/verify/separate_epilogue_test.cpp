// Here and not beside separate_epilogue.hpp, because it needs an algorithm and its verification.
#include "bench/algorithm/separate_epilogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/reference_algorithm.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class SeparateEpilogues : public ::testing::Test {
 protected:
  SeparateEpilogues() { add_reference(registry_); }
  Registry registry_;
  CpuDevice device_;
};

TEST_F(SeparateEpilogues, AreRightForEveryEpilogueAndLayout) {
  const auto algorithm = with_separate_epilogue(*registry_.find("reference.cpu"));
  EXPECT_EQ(algorithm->info().id, "reference.separate.cpu");
  const auto queue = device_.make_queue();
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu})
    for (Layout layout : kLayouts) {
      ConvProblem problem = parse_problem("n=3 c=4 hw=8x7 k=6 rs=3x2 stride=2x1 pad=1x2 groups=2");
      problem.epilogue = epilogue;
      problem.layout = layout;
      ASSERT_TRUE(algorithm->supports(problem, device_.info()));
      const auto plan = algorithm->plan(problem, device_, {.threads = 2});
      const Verdict verdict = Verification(problem, {}).check(*algorithm, *plan, device_, *queue);
      EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
      EXPECT_THAT(plan->implementation(), HasSubstr(std::string(name(epilogue))));
      EXPECT_EQ(plan->operations()->bytes, static_cast<double>(problem.total_bytes()) +
                                               2.0 * static_cast<double>(problem.bytes(Role::output)));
    }
}

TEST_F(SeparateEpilogues, RefuseProblemsWithoutOneAndTensorsOf16Bits) {
  const auto algorithm = with_separate_epilogue(*registry_.find("reference.cpu"));
  ConvProblem problem = parse_problem("n=1 c=4 hw=8x7 k=6 rs=3x2");
  EXPECT_EQ(algorithm->supports(problem, device_.info()).reason(), Reason::unsupported_epilogue);
  problem.epilogue = Epilogue::relu;
  problem.math = MathMode::bf16;
  EXPECT_EQ(algorithm->supports(problem, device_.info()).reason(), Reason::unsupported_math);
}

// Takes everything and says nothing of epilogues.
class Plain final : public Algorithm {
 public:
  Plain() {
    info_.id = "plain.cpu";
    info_.device = DeviceKind::cpu;
  }
  const AlgorithmInfo& info() const override { return info_; }
  std::unique_ptr<Plan> plan(const ConvProblem&, Device&, const PlanOptions&) const override {
    return nullptr;
  }

 protected:
  Support takes(const ConvProblem&, const DeviceInfo&) const override { return Support::yes(); }

 private:
  AlgorithmInfo info_;
};

TEST_F(SeparateEpilogues, AreThereForEveryCandidateOfTheCpuAndListedWithNone) {
  const size_t before = registry_.all().size();
  registry_.add(std::make_unique<Plain>());
  EXPECT_EQ(registry_.all().size(), before + 1);
  const Algorithm& plain = *registry_.find("plain.cpu");
  ASSERT_NE(registry_.separate(plain), nullptr);
  EXPECT_EQ(registry_.separate(plain), registry_.find("plain.separate.cpu"));
  EXPECT_EQ(registry_.separate(*registry_.find("reference.cpu")), nullptr);  // no candidate

  ConvProblem problem = parse_problem("n=1 c=4 hw=8x7 k=6 rs=3x2 epilogue=bias");
  const Support refusal = plain.supports(problem, device_.info());
  EXPECT_EQ(refusal.reason(), Reason::unsupported_epilogue);
  EXPECT_THAT(refusal.why(), HasSubstr("epilogue bias"));
  EXPECT_TRUE(registry_.separate(plain)->supports(problem, device_.info()));
}

}  // namespace
}  // namespace convscope
