// fft16.cpu and fft32.cpu against the definition on random problems, blocked and unblocked, and what they
// refuse. The transforms alone are tested in transforms_test.cpp.
#include "algorithms/fft/fft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/fft/cpu/blocking.hpp"
#include "algorithms/fft/cpu/transforms.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {
namespace {

using testing::HasSubstr;

const float* floats(const Buffer& buffer) {
  return static_cast<const float*>(buffer.data());
}

class Fft : public testing::TestWithParam<const char*> {
 protected:
  Fft() { add_fft(registry_); }

  const Algorithm& algorithm() const { return *registry_.find(GetParam()); }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, int64_t cap = INT64_MAX, int threads = 1) {
    PlanOptions options;
    options.workspace_cap = cap;
    options.threads = threads;
    return algorithm().plan(problem, device_, options);
  }

  OperationCount counted(const ConvProblem& problem) { return plan(problem)->operations().value(); }

  Buffer random_tensor(int64_t elements) {
    std::uniform_real_distribution<float> value(-1, 1);
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& v : values) v = value(random_);
    Buffer buffer(device_, values.size() * sizeof(float));
    buffer.upload(values.data(), buffer.bytes());
    return buffer;
  }

  // The relative L2 error against f64 over up to `samples` elements of the written tensor.
  double error(const ConvProblem& problem, int64_t cap = INT64_MAX, int threads = 1, int64_t samples = 300) {
    Buffer input = random_tensor(problem.elements(Role::input));
    Buffer filter = random_tensor(problem.elements(Role::filter));
    Buffer output = random_tensor(problem.elements(Role::output));
    const Role role = written_role(problem.pass);
    Buffer& written = role == Role::input ? input : role == Role::filter ? filter : output;
    written.fill_with_nan();

    const auto plan = this->plan(problem, cap, threads);
    Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
    workspace.fill_with_nan();
    const auto queue = device_.make_queue();
    const ConvArgs args{input.data(), filter.data(), output.data(), workspace.data()};
    plan->prepare(args, *queue);
    plan->run(args, *queue);
    for (const Buffer* buffer : {&input, &filter, &output, &workspace}) EXPECT_TRUE(buffer->guards_intact());
    return relative_l2(problem, input, filter, output, written, samples);
  }

  double relative_l2(const ConvProblem& problem, const Buffer& input, const Buffer& filter,
                     const Buffer& output, const Buffer& written, int64_t samples) {
    const TensorShape shape = problem.shape(written_role(problem.pass));
    const int64_t total = problem.elements(written_role(problem.pass));
    double difference = 0, norm = 0;
    for (int64_t sample = 0; sample < std::min(total, samples); ++sample) {
      int64_t rest =
          total <= samples ? sample : static_cast<int64_t>(random_() % static_cast<uint64_t>(total));
      std::array<int64_t, 4> index{};
      for (size_t i = 4; i-- > 0; rest /= shape.size[i]) index[i] = rest % shape.size[i];
      const double expected =
          reference_element(problem, floats(input), floats(filter), floats(output), index);
      const double actual = floats(written)[shape.offset(index[0], index[1], index[2], index[3])];
      difference += (actual - expected) * (actual - expected);
      norm += expected * expected;
    }
    return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
  }

  ConvProblem random_problem(int64_t largest_input, int64_t largest_channels) {
    const auto up_to = [&](int64_t first, int64_t last) {
      return std::uniform_int_distribution<int64_t>(first, last)(random_);
    };
    for (;;) {
      ConvProblem p;
      p.pass = kPasses[static_cast<size_t>(up_to(0, 2))];
      p.layout = up_to(0, 1) == 0 ? Layout::nchw : Layout::nhwc;
      p.batch = up_to(1, 3);
      p.groups = up_to(0, 3) == 0 ? up_to(2, 3) : 1;
      p.in_channels = p.groups * up_to(1, largest_channels);
      p.out_channels = p.groups * up_to(1, largest_channels);
      p.input = {up_to(1, largest_input), up_to(1, largest_input)};
      p.filter = {up_to(1, 11), up_to(1, 11)};
      if (up_to(0, 1) == 0) p.stride = {up_to(1, 4), up_to(1, 4)};
      p.pad = {up_to(0, 3), up_to(0, 3)};
      if (!validate(p) && algorithm().supports(p, device_.info())) return p;
    }
  }

  CpuDevice device_;
  Registry registry_;
  std::mt19937_64 random_{1};
};

TEST_P(Fft, AgreesWithTheDefinitionOnSmallRandomProblems) {
  for (int i = 0; i < problems_to_try(200); ++i) {
    const ConvProblem problem = random_problem(13, 5);
    EXPECT_LT(error(problem), 2e-6) << to_line(problem);
  }
}

TEST_P(Fft, AgreesWithTheDefinitionOnLargerRandomProblems) {
  for (int i = 0; i < problems_to_try(40); ++i) {
    const ConvProblem problem = random_problem(40, 40);
    EXPECT_LT(error(problem, INT64_MAX, 1 + i % 2), 2e-6) << to_line(problem);
  }
}

TEST_P(Fft, AgreesWithTheDefinitionWhenTheCapForcesBlocks) {
  for (int i = 0; i < problems_to_try(16); ++i) {
    const ConvProblem problem = random_problem(30, 40);
    const int64_t whole = plan(problem)->workspace_bytes();
    for (const int64_t cap : {whole - 1, whole / 2, whole / 8, int64_t{0}})
      EXPECT_LT(error(problem, cap, 1, 60), 2e-6) << to_line(problem) << " cap " << cap;
  }
}

TEST_P(Fft, AgreesWithTheDefinitionOnEveryInstructionSet) {
  for_each_target([&] {
    for (int i = 0; i < problems_to_try(30); ++i) {
      const ConvProblem problem = random_problem(20, 20);
      EXPECT_LT(error(problem), 2e-6) << to_line(problem);
    }
  });
}

TEST_P(Fft, StaysUnderTheWorkspaceCapByBlocking) {
  const int64_t cap = 256 << 20;
  for (const Pass pass : kPasses) {
    ConvProblem p = parse_problem("forward fp32 nchw n=64 c=512 hw=56x56 k=512 rs=3x3 pad=1x1");
    p.pass = pass;
    EXPECT_LE(plan(p, cap)->workspace_bytes(), cap) << name(pass);
  }
}

TEST_P(Fft, KeepsFilterSpectraOnlyWhenTheyFitTheCap) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=1 c=512 hw=14x14 k=512 rs=3x3 pad=1x1");
  EXPECT_TRUE(plan(p)->has_prepare());
  EXPECT_FALSE(plan(p, 256 << 20)->has_prepare());
}

TEST_P(Fft, ComputesTheFirstLayerOfAlexNetInAllPasses) {
  for (const Pass pass : kPasses)
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      ConvProblem p = parse_problem("n=1 c=3 hw=227x227 k=96 rs=11x11 stride=4x4");
      p.pass = pass;
      p.layout = layout;
      if (kSanitized) p.out_channels = 8;
      EXPECT_LT(error(p), 2e-6) << to_line(p);
    }
}

TEST_P(Fft, ARunCanBeRepeatedWithoutPreparingAgain) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=2 c=5 hw=17x17 k=7 rs=3x3 pad=1x1");
  Buffer input = random_tensor(p.elements(Role::input)), filter = random_tensor(p.elements(Role::filter));
  Buffer output(device_, static_cast<size_t>(p.bytes(Role::output)));
  const auto plan = this->plan(p);
  ASSERT_TRUE(plan->has_prepare());
  Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
  const auto queue = device_.make_queue();
  const ConvArgs args{input.data(), filter.data(), output.data(), workspace.data()};
  plan->prepare(args, *queue);
  plan->run(args, *queue);
  std::vector<std::byte> first(output.bytes()), second(output.bytes());
  output.download(first.data(), first.size());
  output.fill_with_nan();
  plan->run(args, *queue);
  output.download(second.data(), second.size());
  EXPECT_EQ(first, second);
}

TEST_P(Fft, CountsEightOperationsForAComplexMultiplyAdd) {
  const bool small = algorithm().info().id == "fft16.cpu";
  const ConvProblem p = parse_problem("forward fp32 nchw n=3 c=5 hw=10x10 k=7 rs=3x3");
  EXPECT_EQ(counted(p).product_flops,
            8.0 * (small ? 130 : 514) * 3 * 5 * round_up(7, gemm_shape().columns_per_panel));
}

TEST_P(Fft, CountsTheLanesAndColumnsThatItComputesAndDrops) {
  ConvProblem whole = parse_problem("forward n=2 c=3 hw=13x13 k=1 rs=3x3 pad=1x1");
  const OperationCount few = counted(whole);
  whole.out_channels = gemm_shape().columns_per_panel;
  EXPECT_EQ(few.product_flops, counted(whole).product_flops);
  EXPECT_LT(few.transform_flops, counted(whole).transform_flops);  // one vector to invert
  whole.out_channels = fft::vector_lanes();
  EXPECT_EQ(few.transform_flops, counted(whole).transform_flops);
}

TEST_P(Fft, CountsSumsThatAreReadAgainAsBytesOfTheCaches) {
  ConvProblem p = parse_problem("forward n=1 c=10 hw=9x9 k=6 rs=3x3");
  const double bins = algorithm().info().id == "fft16.cpu" ? 130 : 514;
  const double sums = 2 * sizeof(float) * bins * gemm_shape().columns_per_panel;
  EXPECT_EQ(counted(p).cached_bytes, 2 * sums);  // two products, the second adds
  p.in_channels = fft::kProductDepth + 1;
  EXPECT_EQ(counted(p).cached_bytes, 3 * 2 * sums);
}

TEST_P(Fft, RefusesDilationWithItsReason) {
  const Support support =
      algorithm().supports(parse_problem("forward n=1 c=2 hw=9x9 k=2 rs=3x3 dilation=2x1"), device_.info());
  EXPECT_EQ(support.reason(), Reason::unsupported_dilation);
  EXPECT_THAT(support.why(), HasSubstr("dilation 2x1"));
}

TEST_P(Fft, RefusesAFilterThatFillsMoreThanATileWithItsReason) {
  const Support support =
      algorithm().supports(parse_problem("forward n=1 c=2 hw=50x50 k=2 rs=3x33"), device_.info());
  EXPECT_EQ(support.reason(), Reason::unsupported_filter);
  EXPECT_THAT(support.why(), HasSubstr("filter 3x33"));
}

TEST_P(Fft, RefusesAStrideOfMoreResiduesThanItLists) {
  ConvProblem p = parse_problem("backward_data n=1 c=3 hw=9x9 k=2 rs=3x3 stride=65536x65536");
  const Support support = algorithm().supports(p, device_.info());
  EXPECT_EQ(support.reason(), Reason::unsupported_stride);
  EXPECT_THAT(support.why(), HasSubstr("3 input channels of a group into 65536x65536 residues"));
  p.pass = Pass::forward;
  EXPECT_TRUE(algorithm().supports(p, device_.info())) << "as many residues as taps";
}

TEST_P(Fft, RefusesDepthwiseOtherMathAndChwn) {
  ConvProblem p = parse_problem("forward n=1 c=4 hw=9x9 k=4 rs=3x3 groups=4");
  EXPECT_EQ(algorithm().supports(p, device_.info()).reason(), Reason::unsupported_groups);
  p.groups = 2;
  EXPECT_TRUE(algorithm().supports(p, device_.info()));
  p.math = MathMode::bf16;
  EXPECT_EQ(algorithm().supports(p, device_.info()).reason(), Reason::unsupported_math);
  p.math = MathMode::fp32;
  p.layout = Layout::chwn;
  EXPECT_EQ(algorithm().supports(p, device_.info()).reason(), Reason::unsupported_layout);
}

// What is counted is the rows between the first and the last of all lanes.
TEST(FftGeometry, ATileOnThePaddingAloneHasNoRowOfItsWindow) {
  const fft::Axis axis{.extent = 9, .step = 2, .window = 16};
  EXPECT_EQ(fft::inside(axis, -41), (fft::Range{16, 16})) << "sample 21 would be the first";
  EXPECT_EQ(fft::inside(axis, -9), (fft::Range{5, 9}));
  EXPECT_EQ(fft::inside(axis, 40), (fft::Range{0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Fft, testing::Values("fft16.cpu", "fft32.cpu"),
                         [](const auto& size) { return std::string(size.param).substr(0, 5); });

}  // namespace
}  // namespace convscope
