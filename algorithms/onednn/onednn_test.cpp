// The variants of oneDNN against the f64 definition on small random problems, and their refusals. Where the
// build has no oneDNN the problems are skipped and unavailable_test.cpp says what the variants do instead.
#include "algorithms/onednn/onednn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "algorithms/common/expect_definition_test.hpp"
#include "algorithms/common/problems_test.hpp"
#include "algorithms/onednn/library.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (onednn::version().empty()) GTEST_SKIP() << "this build has no oneDNN";
    add_onednn(registry_);
  }

  const Algorithm& variant(const std::string& id) const { return *registry_.find(id); }
  Support supports(const std::string& id, const ConvProblem& problem) const {
    return variant(id).supports(problem, device_.info());
  }

  void expect_right(const std::string& id, const ConvProblem& problem, double tolerance) {
    expect_definition(variant(id), problem, device_, {}, tolerance);
  }

  Registry registry_;
  CpuDevice device_;
};

constexpr RandomProblems kRandom{.batch = 3, .channels_of_a_group = 16, .depthwise = 4, .pointwise = 0};

TEST_F(OneDnn, AgreesWithTheDefinitionOnRandomProblems) {
  std::mt19937 random(1);
  for (const std::string id : {"onednn.auto.cpu", "onednn.direct.cpu", "onednn.gemm.cpu"})
    for (Pass pass : kPasses)
      for (Layout layout : {Layout::nchw, Layout::nhwc}) {
        int ran = 0;
        for (int i = 0; i < 18; ++i) {
          const ConvProblem problem = random_problem(random, pass, layout, kRandom);
          if (!supports(id, problem)) continue;
          ++ran;
          expect_right(id, problem, id == "onednn.auto.cpu" ? 0.05 : 0);
        }
        EXPECT_GT(ran, 0) << id;
      }
}

TEST_F(OneDnn, ComputesTheThreePassesWithWinogradWhereItHasIt) {
  // oneDNN 2 has it for AVX-512, oneDNN 3 not at all.
  const bool has_it = onednn::version().starts_with("2.") && device_.info().instructions.find("AVX3") == 0;
  for (Pass pass : kPasses) {
    int ran = 0;
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int64_t channels : {16, 32, 64}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=2 c=32 hw=13x13 k=48 rs=3x3 stride=1x1 pad=1x1");
        p.pass = pass;
        p.layout = layout;
        p.in_channels = channels;
        if (!supports("onednn.winograd.cpu", p)) continue;
        ++ran;
        expect_right("onednn.winograd.cpu", p, 0.05);
      }
    if (has_it) {
      EXPECT_GT(ran, 0) << name(pass) << " with oneDNN " << onednn::version();
    }
  }
}

TEST_F(OneDnn, CountsOnlyWhatItKnowsToBeDone) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=2 c=32 hw=13x13 k=48 rs=3x3 stride=1x1 pad=1x1");
  EXPECT_FALSE(variant("onednn.auto.cpu").plan(p, device_, {})->operations());
  if (supports("onednn.winograd.cpu", p)) {
    EXPECT_FALSE(variant("onednn.winograd.cpu").plan(p, device_, {})->operations());
  }
  for (const char* id : {"onednn.direct.cpu", "onednn.gemm.cpu"}) {
    const auto count = variant(id).plan(p, device_, {})->operations();
    ASSERT_TRUE(count) << id;
    EXPECT_EQ(count->product_flops, p.nominal_flops()) << id;
    EXPECT_GE(count->bytes, static_cast<double>(p.total_bytes())) << id;
  }
}

TEST_F(OneDnn, NamesTheImplementationThatTheRowPromises) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=1 c=16 hw=13x13 k=16 rs=3x3 stride=1x1 pad=1x1");
  EXPECT_THAT(variant("onednn.gemm.cpu").plan(p, device_, {})->implementation(), HasSubstr("gemm"));
  const std::string direct = variant("onednn.direct.cpu").plan(p, device_, {})->implementation();
  EXPECT_EQ(direct.find("ref"), direct.npos);
  EXPECT_EQ(direct.find("gemm:"), direct.npos);
}

TEST_F(OneDnn, RefusesWinogradForElevenByElevenInTheLibrarysOwnWords) {
  const Support support =
      supports("onednn.winograd.cpu", parse_problem("forward fp32 nchw n=1 c=3 hw=227x227 "
                                                    "k=96 rs=11x11 stride=4x4"));
  EXPECT_EQ(support.reason(), Reason::library_refused);
  EXPECT_THAT(support.why(), HasSubstr("oneDNN"));
}

TEST_F(OneDnn, RefusesTheLayoutChwn) {
  ConvProblem p;
  p.layout = Layout::chwn;
  for (const Algorithm* algorithm : registry_.all())
    EXPECT_EQ(algorithm->supports(p, device_.info()).reason(), Reason::unsupported_layout);
}

TEST_F(OneDnn, RefusesReducedPrecision) {
  for (MathMode math : {MathMode::tf32, MathMode::tf32x3, MathMode::bf16, MathMode::fp16}) {
    ConvProblem p;
    p.math = math;
    for (const Algorithm* algorithm : registry_.all())
      EXPECT_EQ(algorithm->supports(p, device_.info()).reason(), Reason::unsupported_math);
  }
}

}  // namespace
}  // namespace convscope
