// The variants im2col_gemm.cpu and im2col_gemm.packed.cpu against the f64 definition on random problems,
// their memory promise, and their refusals. Where the build has no OpenBLAS its variant is skipped.
#include "algorithms/im2col_gemm/im2col_gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/common/expect_definition_test.hpp"
#include "algorithms/common/problems_test.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"
#include "algorithms/im2col_gemm/plain.hpp"
#include "bench/core/sanitized_test.hpp"
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

  const Algorithm& variant() const { return *registry_.find(id_); }
  Support supports(const ConvProblem& problem) const { return variant().supports(problem, device_.info()); }

  OperationCount counted(const ConvProblem& problem) const {
    return variant().plan(problem, device_, {})->operations().value();
  }

  void expect_exact(const ConvProblem& problem, const PlanOptions& options) const {
    ASSERT_TRUE(supports(problem)) << to_line(problem);
    expect_definition(variant(), problem, device_, options, 0);
  }

  Registry registry_;
  std::string id_;
  // Made before any test pins the main thread, which narrows what a new device sees.
  inline static CpuDevice device_;
};

class EachVariant : public Im2colGemm, public ::testing::WithParamInterface<const char*> {
 protected:
  EachVariant() : Im2colGemm(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Im2colGemm, EachVariant,
                         ::testing::Values("im2col_gemm.cpu", "im2col_gemm.packed.cpu"),
                         [](const auto& tested) {
                           return std::string(tested.param).find("packed") == std::string::npos ? "OpenBlas"
                                                                                                : "Packed";
                         });

class OpenBlasVariant : public Im2colGemm {
 protected:
  OpenBlasVariant() : Im2colGemm("im2col_gemm.cpu") {}
};

class PackedVariant : public Im2colGemm {
 protected:
  PackedVariant() : Im2colGemm("im2col_gemm.packed.cpu") {}
};

constexpr RandomProblems kRandom{.batch = 4, .channels_of_a_group = 9, .depthwise = 6, .pointwise = 5};

TEST_P(EachVariant, EqualsTheDefinitionOnRandomProblems) {
  std::mt19937 random(1);
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int i = 0; i < problems_to_try(60); ++i)
        expect_exact(random_problem(random, pass, layout, kRandom), {});
}

TEST_P(EachVariant, EqualsThePlainVersion) {
  using namespace im2col_gemm;
  std::mt19937 random(6);
  for (const Pass pass : kPasses)
    for (int i = 0; i < problems_to_try(40); ++i) {
      ConvProblem p = random_problem(random, pass, Layout::nchw, kRandom);
      p.batch = p.groups = 1;
      SCOPED_TRACE(to_line(p));
      Operands operands = make_operands(p, device_, DataKind::integers, 5);
      const auto plan = variant().plan(p, device_, {});
      Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
      const ConvArgs args = operands.args(workspace.data());
      plan->run(args, *device_.make_queue());
      const auto matrix = [&](Role role, int64_t rows) {
        const auto* const data = static_cast<const float*>(args.tensor(role));
        return PlainMatrix{rows, p.elements(role) / rows, {data, data + p.elements(role)}};
      };
      const PlainMatrix input = matrix(Role::input, p.in_channels),
                        filter = matrix(Role::filter, p.out_channels),
                        output = matrix(Role::output, p.out_channels);
      const PlainMatrix& written = pass == Pass::forward         ? output
                                   : pass == Pass::backward_data ? input
                                                                 : filter;
      const PlainMatrix expected = pass == Pass::forward         ? plain_forward(p, input, filter)
                                   : pass == Pass::backward_data ? plain_backward_data(p, output, filter)
                                                                 : plain_backward_filter(p, input, output);
      EXPECT_EQ(written.data, expected.data);
    }
}

TEST_P(EachVariant, EqualsTheDefinitionOnTwoThreads) {
  if (device_.info().cores < 2) GTEST_SKIP() << "this process may use one core only";
  std::mt19937 random(2);
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int i = 0; i < problems_to_try(30); ++i)
        expect_exact(random_problem(random, pass, layout, kRandom),
                     {.workspace_cap = INT64_MAX, .threads = 2});
}

TEST_P(EachVariant, EqualsTheDefinitionInTheSmallestWorkspace) {
  std::mt19937 random(3);
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int i = 0; i < problems_to_try(40); ++i)
        expect_exact(random_problem(random, pass, layout, kRandom), {.workspace_cap = 0, .threads = 1});
}

TEST_P(EachVariant, StaysUnderTheWorkspaceCapAsLongAsOneOutputRowFits) {
  for (Layout layout : {Layout::nchw, Layout::nhwc})
    for (Pass pass : kPasses)
      for (int threads : {1, 2}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=4 c=64 hw=56x56 k=64 rs=3x3 pad=1x1");
        p.layout = layout;
        p.pass = pass;
        for (int64_t cap : {1 << 18, 1 << 20, 1 << 22})
          EXPECT_LE(variant().plan(p, device_, {.workspace_cap = cap, .threads = threads})->workspace_bytes(),
                    cap);
      }
}

// Chunks of one row of 4 pixels: 103,424 additions one after the other, or 322 subtotals, the last one
// shorter.
TEST_P(EachVariant, SumsVeryManyChunksInTwoLevelsWhereASubtotalFits) {
#if defined(__SANITIZE_ADDRESS__)
  const std::vector<std::pair<Layout, int>> cases{{Layout::nhwc, 1}};  // they take long
#else
  const std::vector<std::pair<Layout, int>> cases{{Layout::nhwc, 1}, {Layout::nchw, 2}};
#endif
  for (const auto& [layout, threads] : cases) {
    ConvProblem p = parse_problem("backward_filter fp32 nchw n=101 c=1 hw=1026x6 k=1 rs=3x3");
    p.layout = layout;
    p.groups = p.in_channels = p.out_channels = threads;
    const int64_t smallest =
        variant().plan(p, device_, {.workspace_cap = 0, .threads = threads})->workspace_bytes();
    const PlanOptions with_room{.workspace_cap = smallest + 128, .threads = threads};
    const auto one_level = variant().plan(p, device_, {.workspace_cap = smallest, .threads = threads});
    const auto two_levels = variant().plan(p, device_, with_room);
    EXPECT_GT(one_level->longest_sum(), 1e5);
    EXPECT_LT(two_levels->longest_sum(), 1e3);
    EXPECT_LE(two_levels->workspace_bytes(), with_room.workspace_cap);
    EXPECT_GT(two_levels->operations()->bytes, one_level->operations()->bytes);
    if (threads > 1) p.batch = 11;  // 107 subtotals, the last one shorter; threads that wait take long
    if (threads <= device_.info().cores) expect_exact(p, with_room);
  }
}

TEST_F(OpenBlasVariant, NeedsNoWorkspaceForPointwiseConvolutions) {
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (int64_t side : {7, 14, 28}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=4 c=8 hw=1x1 k=8 rs=1x1");
        p.input = {side, side};
        p.layout = layout;
        p.pass = pass;
        EXPECT_EQ(variant().plan(p, device_, {})->workspace_bytes(), 0) << to_line(p);
        EXPECT_EQ(counted(p).bytes, static_cast<double>(p.total_bytes())) << to_line(p);
        expect_exact(p, {});
      }
}

TEST_P(EachVariant, TakesAFilterThatCoversTheImageForAFullyConnectedLayer) {
  for (Pass pass : kPasses)
    for (Layout layout : {Layout::nchw, Layout::nhwc})
      for (const int64_t batch : {1, 3, 20}) {
        ConvProblem p = parse_problem("forward fp32 nchw n=1 c=7 hw=5x6 k=19 rs=5x6 stride=2x2");
        p.pass = pass;
        p.layout = layout;
        p.batch = batch;
        EXPECT_EQ(counted(p).bytes, static_cast<double>(p.total_bytes())) << to_line(p);
        expect_exact(p, {});
        p.pad = {1, 1};
        p.input = {3, 4};
        EXPECT_GT(counted(p).bytes, static_cast<double>(p.total_bytes())) << to_line(p);
        expect_exact(p, {});
        p.pad = {0, 0};
        p.input = p.filter;
        p.in_channels = 4;
        p.out_channels = 6;
        p.groups = 2;
        expect_exact(p, {});
      }
}

TEST_P(EachVariant, GivesTheSameBitsOnEveryRun) {
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
    const auto plan = variant().plan(p, device_, {});
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

TEST_F(OpenBlasVariant, CountsTheCopiesOfTheOutputOfSmallImages) {
  const ConvProblem p = parse_problem("forward fp32 nchw n=4 c=8 hw=7x7 k=5 rs=3x3 pad=1x1");
  const double columns = 4.0 * 49 * 8 * 9, gathered = 4.0 * 49 * 5;
  EXPECT_EQ(counted(p).bytes, static_cast<double>(p.total_bytes()) + 8 * (columns + gathered));
}

TEST_F(OpenBlasVariant, NamesItsLibraryAndVersion) {
  EXPECT_EQ(variant().info().provider, "openblas");
  EXPECT_THAT(variant().info().version, HasSubstr("OpenMP"));
}

TEST_P(EachVariant, RefusesTheLayoutChwn) {
  ConvProblem p;
  p.layout = Layout::chwn;
  EXPECT_EQ(supports(p).reason(), Reason::unsupported_layout);
}

TEST_P(EachVariant, RefusesReducedPrecision) {
  for (MathMode math : {MathMode::tf32, MathMode::tf32x3, MathMode::bf16, MathMode::fp16}) {
    ConvProblem p;
    p.math = math;
    EXPECT_EQ(supports(p).reason(), Reason::unsupported_math);
  }
}

TEST_F(OpenBlasVariant, RefusesMatricesThatOpenBlasCannotCount) {
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

TEST_F(PackedVariant, EqualsTheDefinitionWhereProductsAreLargerThanTheirBlocks) {
  for (const char* line : kLargerThanBlocks)
    for (Pass pass : kPasses) {
      ConvProblem p = parse_problem(line);
      p.pass = pass;
      expect_exact(p, {});
      expect_exact(p, {.workspace_cap = 0, .threads = 1});
      if (device_.info().cores >= 2) expect_exact(p, {.workspace_cap = INT64_MAX, .threads = 2});
    }
}

TEST_F(PackedVariant, EqualsTheDefinitionOnEveryInstructionSet) {
  for_each_target([&] {
    std::mt19937 random(4);
    for (Pass pass : kPasses)
      for (Layout layout : {Layout::nchw, Layout::nhwc})
        for (int i = 0; i < problems_to_try(10); ++i)
          expect_exact(random_problem(random, pass, layout, kRandom), {});
    for (const char* line : kLargerThanBlocks) expect_exact(parse_problem(line), {});
  });
}

TEST_F(PackedVariant, TakesNoMoreThreadsThanItsWorkspaceIsFor) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(4);
  for (const char* line : kLargerThanBlocks) {
    const ConvProblem p = parse_problem(line);
    const auto plan = variant().plan(p, device_, {.workspace_cap = INT64_MAX, .threads = 1});
    Operands operands = make_operands(p, device_, DataKind::integers, 5);
    Buffer workspace(device_, static_cast<size_t>(plan->workspace_bytes()));
    plan->run(operands.args(workspace.data()), *device_.make_queue());
    EXPECT_TRUE(workspace.guards_intact()) << line;
  }
  omp_set_num_threads(before);
}

TEST_F(PackedVariant, GathersOutputsOnlyInForwardOfFewPixels) {
  const auto copied = [&](const char* line) {
    const ConvProblem p = parse_problem(line);
    return counted(p).bytes - static_cast<double>(p.total_bytes());
  };
  EXPECT_EQ(copied("forward fp32 nchw n=4 c=8 hw=7x7 k=5 rs=3x3 pad=1x1"), 8.0 * 4 * 49 * (8 * 9 + 5));
  EXPECT_EQ(copied("forward fp32 nchw n=4 c=8 hw=15x15 k=5 rs=3x3 pad=1x1"), 8.0 * 4 * 225 * 8 * 9);
  EXPECT_EQ(copied("backward_filter fp32 nchw n=4 c=8 hw=7x7 k=5 rs=3x3 pad=1x1"), 8.0 * 4 * 49 * 8 * 9);
}

TEST_F(PackedVariant, IsOurOwn) {
  EXPECT_EQ(variant().info().provider, "convscope");
  ConvProblem p;
  p.input = {1 << 16, 1 << 16};  // counted in 64 bits
  EXPECT_TRUE(supports(p));
}

}  // namespace
}  // namespace convscope
