// The rows of oneDNN against the f64 definition on small random problems, and their refusals. Where the build
// has no oneDNN the problems are skipped and missing_test.cpp says what the rows do instead.
#include "algorithms/onednn/onednn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "algorithms/onednn/library.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/reference.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class OneDnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (onednn::version().empty()) GTEST_SKIP() << "this build has no oneDNN";
    add_onednn(registry_);
  }

  const Algorithm& row(const std::string& id) const { return *registry_.find(id); }
  Support supports(const std::string& id, const ConvProblem& problem) const {
    return row(id).supports(problem, device_.info());
  }

  // Runs the problem on fresh whole-number data, everything that may be written filled with NaN before, and
  // expects the f64 result to within `tolerance` of the largest possible sum.
  void expect_right(const std::string& id, const ConvProblem& problem, double tolerance);

  Registry registry_;
  CpuDevice device_;
};

void fill(Buffer& buffer, std::mt19937& random) {
  for (size_t i = 0; i < buffer.bytes() / sizeof(float); ++i)
    buffer.as<float>()[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
}

void OneDnn::expect_right(const std::string& id, const ConvProblem& problem, double tolerance) {
  SCOPED_TRACE(id + " " + to_line(problem));
  std::mt19937 random(7);
  std::vector<Buffer> tensors;
  for (Role role : kRoles) {
    Buffer& buffer = tensors.emplace_back(device_, static_cast<size_t>(problem.bytes(role)));
    if (role == written_role(problem.pass))
      buffer.fill_with_nan();
    else
      fill(buffer, random);
  }
  const auto plan = row(id).plan(problem, device_, {});
  Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
  workspace.fill_with_nan();
  const ConvArgs args{tensors[0].data(), tensors[1].data(), tensors[2].data(), workspace.data()};
  const auto queue = device_.make_queue();
  if (plan->has_prepare()) plan->prepare(args, *queue);
  plan->run(args, *queue);
  plan->run(args, *queue);

  EXPECT_NE(plan->implementation(), "");
  EXPECT_TRUE(workspace.guards_intact());
  for (const Buffer& buffer : tensors) EXPECT_TRUE(buffer.guards_intact());
  const Role written = written_role(problem.pass);
  const TensorShape shape = problem.shape(written);
  const float* result = tensors[static_cast<size_t>(written)].as<float>();
  for (int64_t a = 0; a < shape.size[0]; ++a)
    for (int64_t b = 0; b < shape.size[1]; ++b)
      for (int64_t c = 0; c < shape.size[2]; ++c)
        for (int64_t d = 0; d < shape.size[3]; ++d) {
          const double expected = reference_element(problem, tensors[0].as<float>(), tensors[1].as<float>(),
                                                    tensors[2].as<float>(), {a, b, c, d});
          ASSERT_NEAR(result[shape.offset(a, b, c, d)], expected, tolerance)
              << plan->implementation() << " at " << a << "," << b << "," << c << "," << d;
        }
}

// Any small problem without a defect, a quarter of them depthwise.
ConvProblem random_problem(std::mt19937& random, Pass pass, Layout layout) {
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (;;) {
    ConvProblem p;
    p.pass = pass;
    p.layout = layout;
    p.batch = between(1, 3);
    p.groups = between(0, 2) == 0 ? between(2, 4) : 1;
    p.in_channels = p.groups * between(1, 16);
    p.out_channels = p.groups * between(1, 16);
    if (between(0, 3) == 0) p.groups = p.out_channels = p.in_channels;
    p.input = {between(1, 20), between(1, 20)};
    p.filter = {between(1, 5), between(1, 5)};
    p.stride = {between(1, 3), between(1, 3)};
    p.dilation = {between(1, 2), between(1, 2)};
    p.pad = {between(0, 3), between(0, 3)};
    if (!defect(p)) return p;
  }
}

TEST_F(OneDnn, AgreesWithTheDefinitionOnRandomProblems) {
  std::mt19937 random(1);
  for (const std::string id : {"onednn.auto.cpu", "onednn.direct.cpu", "onednn.gemm.cpu"})
    for (Pass pass : kPasses)
      for (Layout layout : {Layout::nchw, Layout::nhwc}) {
        int ran = 0;
        for (int i = 0; i < 18; ++i) {
          const ConvProblem problem = random_problem(random, pass, layout);
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
    if (has_it) EXPECT_GT(ran, 0) << name(pass) << " with oneDNN " << onednn::version();
  }
}

TEST_F(OneDnn, CountsOnlyWhatItKnowsToBeDone) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=2 c=32 hw=13x13 k=48 rs=3x3 stride=1x1 pad=1x1");
  EXPECT_FALSE(row("onednn.auto.cpu").operations(p));
  EXPECT_FALSE(row("onednn.winograd.cpu").operations(p));
  for (const char* id : {"onednn.direct.cpu", "onednn.gemm.cpu"}) {
    const auto count = row(id).operations(p);
    ASSERT_TRUE(count) << id;
    EXPECT_EQ(count->product_flops, p.nominal_flops()) << id;
    EXPECT_GE(count->bytes, static_cast<double>(p.total_bytes())) << id;
  }
}

TEST_F(OneDnn, NamesTheImplementationThatTheRowPromises) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=1 c=16 hw=13x13 k=16 rs=3x3 stride=1x1 pad=1x1");
  EXPECT_THAT(row("onednn.gemm.cpu").plan(p, device_, {})->implementation(), HasSubstr("gemm"));
  const std::string direct = row("onednn.direct.cpu").plan(p, device_, {})->implementation();
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
