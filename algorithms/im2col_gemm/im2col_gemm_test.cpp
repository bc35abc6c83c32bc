// The rows im2col_gemm.cpu and im2col_gemm.packed.cpu against the f64 definition on random problems, their
// memory promise, and their refusals. Where the build has no OpenBLAS its row is skipped.
#include "algorithms/im2col_gemm/im2col_gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/common/expect_definition_test.hpp"
#include "algorithms/im2col_gemm/cpu/blas.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

class Im2colGemm : public ::testing::Test {
 protected:
  explicit Im2colGemm(const char* id) : id_(id) {}

  void SetUp() override {
    add_im2col_gemm(registry_);
    if (id_ == "im2col_gemm.cpu" && !im2col_gemm::blas_defect().empty())
      GTEST_SKIP() << im2col_gemm::blas_defect();
  }

  const Algorithm& row() const { return *registry_.find(id_); }
  Support supports(const ConvProblem& problem) const { return row().supports(problem, device_.info()); }

  void expect_exact(const ConvProblem& problem, const PlanOptions& options) const {
    ASSERT_TRUE(supports(problem)) << to_line(problem);
    expect_definition(row(), problem, device_, options, 0);
  }

  Registry registry_;
  std::string id_;
  // Made before any test pins the main thread, which narrows what a new device sees.
  inline static CpuDevice device_;
};

class EachRow : public Im2colGemm, public ::testing::WithParamInterface<const char*> {
 protected:
  EachRow() : Im2colGemm(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Im2colGemm, EachRow, ::testing::Values("im2col_gemm.cpu", "im2col_gemm.packed.cpu"),
                         [](const auto& row) {
                           return std::string(row.param).find("packed") == std::string::npos ? "OpenBlas"
                                                                                             : "Packed";
                         });

class OpenBlasRow : public Im2colGemm {
 protected:
  OpenBlasRow() : Im2colGemm("im2col_gemm.cpu") {}
};

class PackedRow : public Im2colGemm {
 protected:
  PackedRow() : Im2colGemm("im2col_gemm.packed.cpu") {}
};

// Any small problem without a defect; some are grouped, some depthwise, some pointwise.
ConvProblem random_problem(std::mt19937& random, Pass pass, Layout layout) {
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (;;) {
    ConvProblem p;
    p.pass = pass;
    p.layout = layout;
    p.batch = between(1, 4);
    p.groups = between(0, 2) == 0 ? between(2, 4) : 1;
    p.in_channels = p.groups * between(1, 9);
    p.out_channels = p.groups * between(1, 9);
    if (between(0, 5) == 0) p.groups = p.out_channels = p.in_channels;
    p.input = {between(1, 20), between(1, 20)};
    if (between(0, 4) == 0) return p;
    p.filter = {between(1, 5), between(1, 5)};
    p.stride = {between(1, 3), between(1, 3)};
    p.dilation = {between(1, 2), between(1, 2)};
    p.pad = {between(0, 3), between(0, 3)};
    if (!validate(p)) return p;
  }
}

TEST_P(EachRow, EqualsTheDefinitionOnRandomProblems) {
  std::mt19937 random(1);
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int i = 0; i < 60; ++i) expect_exact(random_problem(random, pass, layout), {});
}

TEST_P(EachRow, EqualsTheDefinitionOnTwoThreads) {
  if (device_.info().cores < 2) GTEST_SKIP() << "this process may use one core only";
  std::mt19937 random(2);
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int i = 0; i < 30; ++i)
        expect_exact(random_problem(random, pass, layout), {.workspace_cap = INT64_MAX, .threads = 2});
}

TEST_P(EachRow, EqualsTheDefinitionInTheSmallestWorkspace) {
  std::mt19937 random(3);
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int i = 0; i < 40; ++i)
        expect_exact(random_problem(random, pass, layout), {.workspace_cap = 0, .threads = 1});
}

TEST_P(EachRow, StaysUnderTheWorkspaceCapAsLongAsOneOutputRowFits) {
  for (Layout layout : {Layout::nchw, Layout::nhwc})
    for (Pass pass : kPasses)
      for (int threads : {1, 2}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=4 c=64 hw=56x56 k=64 rs=3x3 pad=1x1");
        p.layout = layout;
        p.pass = pass;
        for (int64_t cap : {1 << 18, 1 << 20, 1 << 22})
          EXPECT_LE(row().plan(p, device_, {.workspace_cap = cap, .threads = threads})->workspace_bytes(),
                    cap);
      }
}

TEST_F(OpenBlasRow, NeedsNoWorkspaceForPointwiseConvolutions) {
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int64_t side : {7, 14, 28}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=4 c=8 hw=1x1 k=8 rs=1x1");
        p.input = {side, side};
        p.layout = layout;
        p.pass = pass;
        EXPECT_EQ(row().plan(p, device_, {})->workspace_bytes(), 0) << to_line(p);
        EXPECT_EQ(row().operations(p)->bytes, static_cast<double>(p.total_bytes())) << to_line(p);
        expect_exact(p, {});
      }
}

TEST_P(EachRow, TakesAFilterThatCoversTheImageForAFullyConnectedLayer) {
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (const int64_t batch : {1, 3, 20}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=1 c=7 hw=5x6 k=19 rs=5x6 stride=2x2");
        p.pass = pass;
        p.layout = layout;
        p.batch = batch;
        EXPECT_EQ(row().operations(p)->bytes, static_cast<double>(p.total_bytes())) << to_line(p);
        expect_exact(p, {});
        p.pad = {1, 1};
        p.input = {3, 4};
        EXPECT_GT(row().operations(p)->bytes, static_cast<double>(p.total_bytes())) << to_line(p);
        expect_exact(p, {});
        p.pad = {0, 0};
        p.input = p.filter;
        p.in_channels = 4;
        p.out_channels = 6;
        p.groups = 2;
        expect_exact(p, {});
      }
}

TEST_P(EachRow, GivesTheSameBitsOnEveryRun) {
  ConvProblem p = parse_problem("backward_data fp32 nchw n=2 c=8 hw=13x13 k=16 rs=3x3 pad=1x1");
  for (Pass pass : kPasses) {
    p.pass = pass;
    std::mt19937 random(5);
    std::vector<Buffer> tensors;
    for (Role role : kRoles) {
      Buffer& buffer = tensors.emplace_back(device_, static_cast<size_t>(p.bytes(role)));
      for (int64_t i = 0; i < p.elements(role); ++i)
        buffer.as<float>()[i] = static_cast<float>(random()) / 4294967296.0F - 0.5F;
    }
    const auto plan = row().plan(p, device_, {});
    Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
    const auto queue = device_.make_queue();
    const Buffer& result = tensors[static_cast<size_t>(written_role(pass))];
    std::vector<std::byte> first(result.bytes()), second(result.bytes());
    for (auto* bytes : {&first, &second}) {
      plan->run({tensors[0].data(), tensors[1].data(), tensors[2].data(), workspace.data()}, *queue);
      result.download(bytes->data(), bytes->size());
    }
    EXPECT_EQ(first, second);
  }
}

TEST_F(OpenBlasRow, CountsTheCopiesOfTheOutputOfSmallImages) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=4 c=8 hw=7x7 k=5 rs=3x3 pad=1x1");
  const double columns = 4.0 * 49 * 8 * 9, gathered = 4.0 * 49 * 5;
  EXPECT_EQ(row().operations(p)->bytes, static_cast<double>(p.total_bytes()) + 8 * (columns + gathered));
}

TEST_F(OpenBlasRow, NamesItsLibraryAndVersion) {
  EXPECT_EQ(row().info().provider, "openblas");
  EXPECT_THAT(row().info().version, HasSubstr("OpenMP"));
}

TEST_P(EachRow, RefusesTheLayoutChwn) {
  ConvProblem p;
  p.layout = Layout::chwn;
  EXPECT_EQ(supports(p).reason(), Reason::unsupported_layout);
}

TEST_P(EachRow, RefusesReducedPrecision) {
  for (MathMode math : {MathMode::tf32, MathMode::tf32x3, MathMode::bf16, MathMode::fp16}) {
    ConvProblem p;
    p.math = math;
    EXPECT_EQ(supports(p).reason(), Reason::unsupported_math);
  }
}

TEST_F(OpenBlasRow, RefusesMatricesThatOpenBlasCannotCount) {
  ConvProblem p;
  p.input = {1 << 16, 1 << 16};
  for (Layout layout : {Layout::nchw, Layout::nhwc}) {
    p.layout = layout;
    EXPECT_EQ(supports(p).reason(), Reason::unsupported_size);
    EXPECT_THAT(supports(p).why(), HasSubstr("4294967296"));
  }
  p.input = {1 << 8, 1 << 8};  // as many pixels in the batch
  p.batch = 1 << 16;
  EXPECT_EQ(supports(p).reason(), Reason::unsupported_size);
  p.layout = Layout::nchw;  // an image a matrix
  EXPECT_TRUE(supports(p));
  p.layout = Layout::nhwc;  // some rows a matrix
  p.filter = {3, 3};
  EXPECT_TRUE(supports(p));
}

// Sums, rows and columns longer than a block, images that share a panel, products that are exchanged.
constexpr const char* kLargerThanBlocks[] = {"forward fp32 nchw n=1 c=700 hw=7x7 k=96 rs=1x1",
                                             "forward fp32 nchw n=3 c=330 hw=7x7 k=40 rs=1x1",
                                             "forward fp32 nchw n=1 c=24 hw=41x41 k=20 rs=1x1",
                                             "forward fp32 nchw n=1 c=40 hw=23x23 k=17 rs=3x3 pad=1x1",
                                             "forward fp32 nhwc n=2 c=330 hw=7x7 k=450 rs=1x1",
                                             "forward fp32 nchw n=5 c=36 hw=5x5 k=34 rs=3x3 pad=1x1"};

TEST_F(PackedRow, EqualsTheDefinitionWhereProductsAreLargerThanTheirBlocks) {
  for (const char* line : kLargerThanBlocks)
    for (Pass pass : kPasses) {
      ConvProblem p = parse_problem(line);
      p.pass = pass;
      expect_exact(p, {});
      expect_exact(p, {.workspace_cap = 0, .threads = 1});
      if (device_.info().cores >= 2) expect_exact(p, {.workspace_cap = INT64_MAX, .threads = 2});
    }
}

TEST_F(PackedRow, EqualsTheDefinitionOnEveryInstructionSet) {
  for_each_target([&] {
    std::mt19937 random(4);
    for (Pass pass : kPasses)
      for (Layout layout : {Layout::nchw, Layout::nhwc})
        for (int i = 0; i < 10; ++i) expect_exact(random_problem(random, pass, layout), {});
    for (const char* line : kLargerThanBlocks) expect_exact(parse_problem(line), {});
  });
}

TEST_F(PackedRow, TakesNoMoreThreadsThanItsWorkspaceIsFor) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(4);
  for (const char* line : kLargerThanBlocks) {
    const ConvProblem p = parse_problem(line);
    const auto plan = row().plan(p, device_, {.workspace_cap = INT64_MAX, .threads = 1});
    Operands operands = make_operands(p, device_, DataKind::integers, 5);
    Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
    plan->run(operands.args(workspace.data()), *device_.make_queue());
    EXPECT_TRUE(workspace.guards_intact()) << line;
  }
  omp_set_num_threads(before);
}

TEST_F(PackedRow, GathersOutputsOnlyInForwardOfFewPixels) {
  const auto copied = [&](const char* line) {
    const ConvProblem p = parse_problem(line);
    return row().operations(p)->bytes - static_cast<double>(p.total_bytes());
  };
  EXPECT_EQ(copied("forward fp32 nchw n=4 c=8 hw=7x7 k=5 rs=3x3 pad=1x1"), 8.0 * 4 * 49 * (8 * 9 + 5));
  EXPECT_EQ(copied("forward fp32 nchw n=4 c=8 hw=15x15 k=5 rs=3x3 pad=1x1"), 8.0 * 4 * 225 * 8 * 9);
  EXPECT_EQ(copied("backward_filter fp32 nchw n=4 c=8 hw=7x7 k=5 rs=3x3 pad=1x1"), 8.0 * 4 * 49 * 8 * 9);
}

TEST_F(PackedRow, IsOurOwn) {
  EXPECT_EQ(row().info().provider, "convscope");
  ConvProblem p;
  p.input = {1 << 16, 1 << 16};  // counted in 64 bits
  EXPECT_TRUE(supports(p));
}

}  // namespace
}  // namespace convscope
