// fft16.cuda, fft32.cuda and fft.full.cuda on the emulator, against the definition in all passes, layouts and
// thread orders, and what they refuse. Not here: the CPU rows (fft_test.cpp).
#include "algorithms/fft/cuda/variants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "algorithms/fft/cuda/tiled_blocking.hpp"
#include "bench/algorithm/predicted_error.hpp"
#include "bench/device/buffer.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

using testing::HasSubstr;

class FftCuda : public testing::TestWithParam<const char*> {
 protected:
  FftCuda() { add_fft_cuda(registry_); }

  const Algorithm& algorithm() const { return *registry_.find(GetParam()); }
  Support support(const char* line) const {
    return algorithm().supports(parse_problem(line), EmulatorDevice().info());
  }

  void expect_right(const ConvProblem& problem, EmulatorOrder order, int64_t cap = INT64_MAX) {
    SCOPED_TRACE(to_line(problem) + " in order " + std::to_string(static_cast<int>(order)) + " with cap " +
                 std::to_string(cap));
    EmulatorDevice device({order, 7});
    ASSERT_TRUE(algorithm().supports(problem, device.info()));
    PlanOptions options;
    options.workspace_cap = cap;
    const auto plan = algorithm().plan(problem, device, options);
    const auto queue = device.make_queue();
    const Verdict verdict = Verification(problem, {}).check(algorithm(), *plan, device, *queue);
    EXPECT_TRUE(verdict.passed()) << verdict.note;
    EXPECT_LT(verdict.accuracy.relative_l2.value_or(1), 2e-6);
  }

  OperationCount counted(const ConvProblem& problem) const {
    EmulatorDevice device;
    return algorithm().plan(problem, device, {})->operations().value();
  }

  void expect_under_cap(const char* shape) {
    EmulatorDevice device;
    PlanOptions options;
    options.workspace_cap = 1 << 28;
    for (const Pass pass : kPasses) {
      ConvProblem p = parse_problem(shape);
      p.pass = pass;
      EXPECT_LE(algorithm().plan(p, device, options)->workspace_bytes(), options.workspace_cap) << name(pass);
    }
  }

  // Each pass and layout, the thread order changing from one to the next.
  void expect_right_in_all_forms(const char* shape, int64_t cap = INT64_MAX) {
    int order = 0;
    for (const Pass pass : kPasses)
      for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
        ConvProblem problem = parse_problem(shape);
        problem.pass = pass;
        problem.layout = layout;
        expect_right(problem, kEveryOrder[order++ % 3], cap);
      }
  }

  Registry registry_;
};

TEST_P(FftCuda, IsRightOnAnImageOfOnePixel) {
  expect_right_in_all_forms("n=1 c=1 hw=1x2 k=1 rs=1x2");
}
TEST_P(FftCuda, IsRightOnOddSizesWithPadding) {
  expect_right_in_all_forms("n=3 c=5 hw=13x11 k=17 rs=3x3 pad=1x1");
}
TEST_P(FftCuda, IsRightWhenTheFilterIsTheWholeImage) {
  expect_right_in_all_forms("n=2 c=4 hw=5x6 k=3 rs=5x6");
}
TEST_P(FftCuda, IsRightWhenThePaddingIsWiderThanTheFilter) {
  expect_right_in_all_forms("n=1 c=2 hw=3x3 k=3 rs=2x2 pad=4x4");
}
TEST_P(FftCuda, IsRightOnAFlatFilter) {
  expect_right_in_all_forms("n=1 c=3 hw=9x12 k=4 rs=1x5 pad=0x2");
}
TEST_P(FftCuda, IsRightOnImagesOfSeveralTiles) {
  expect_right_in_all_forms("n=1 c=2 hw=37x40 k=3 rs=5x5 pad=2x2");
}
TEST_P(FftCuda, IsRightWithGroups) {
  expect_right_in_all_forms("n=3 c=4 hw=9x9 k=6 rs=3x3 pad=1x1 groups=2");
}
TEST_P(FftCuda, IsRightWhenTheCapForcesBlocks) {
  for (const int64_t cap : {0, 60000})
    for (const Pass pass : kPasses) {
      ConvProblem problem = parse_problem("n=2 c=3 hw=13x11 k=4 rs=3x3 pad=1x1");
      problem.pass = pass;
      expect_right(problem, EmulatorOrder::random, cap);
    }
}
TEST_P(FftCuda, IsRightOnTheSecondLayerOfAlexNetWithFewerChannels) {
  expect_right_in_all_forms("n=1 c=6 hw=27x27 k=10 rs=5x5 pad=2x2");
}
TEST_P(FftCuda, IsRightOnALayerOfResNetWithFewerChannels) {
  expect_right(parse_problem("n=1 c=4 hw=28x28 k=8 rs=3x3 pad=1x1"), EmulatorOrder::reverse);
}

// Of the product on sm_90a, whose blocks are of 32x64, 48x64 and 64x48 sums; in backward-filter the channels
// are the rows.
TEST_P(FftCuda, IsRightInEveryBlockOfTheProduct) {
  for (const char* line :
       {"n=18 c=3 hw=6x6 k=34 rs=3x3", "n=34 c=4 hw=6x6 k=18 rs=3x3", "n=50 c=3 hw=6x6 k=46 rs=3x3",
        "backward_filter n=2 c=34 hw=6x6 k=20 rs=3x3", "backward_filter n=2 c=50 hw=6x6 k=34 rs=3x3"})
    expect_right(parse_problem(line), EmulatorOrder::reverse);
}

// AlexNet's conv2 has 96 channels: those of backward-data are two blocks of 48, without an unused column.
TEST_P(FftCuda, ComputesNoMoreThanTheProductWhereBlocksFit) {
  if (algorithm().info().id == "fft.full.cuda") return;  // cuBLAS's product
  const double bins = algorithm().info().id == "fft16.cuda" ? 130 : 514;
  const auto products = [&](const char* line) {
    return counted(parse_problem(line)).product_flops / bins / 8;
  };
  constexpr double kSums = 128 * (4 + 6);  // of a block of 64x48 or 48x64 at a step of depth
  EXPECT_EQ(products("n=64 c=8 hw=10x10 k=96 rs=3x3"), 6.0 * 64 * 96 + 2 * kSums);
  EXPECT_EQ(products("n=48 c=8 hw=10x10 k=64 rs=3x3"), 6.0 * 48 * 64 + kSums);
}

TEST_P(FftCuda, IsOfTheCudaDevice) {
  EXPECT_EQ(algorithm().info().device, DeviceKind::cuda);
}

TEST_P(FftCuda, CountsAtLeastTheComplexProductsOfTheDefinition) {
  const ConvProblem p = parse_problem("forward n=64 c=8 hw=10x10 k=64 rs=3x3");
  const std::string id = algorithm().info().id;
  const double bins = id == "fft16.cuda" ? 130 : id == "fft32.cuda" ? 514 : 10 * 6;
  // In tiles two blocks of 32x64: three multiply-adds for each complex one, and the sums of each thread's 4
  // and 4 operands.
  const double of_a_step = id == "fft.full.cuda" ? 8.0 * 64 * 64 : 6.0 * 64 * 64 + 2 * 128 * (4 + 4);
  EXPECT_EQ(counted(p).product_flops, of_a_step * bins * 8);
}

TEST_P(FftCuda, RefusesDilationDepthwiseOtherMathAndChwnWithTheirReasons) {
  EXPECT_EQ(support("n=1 c=2 hw=9x9 k=2 rs=3x3 dilation=2x1").reason(), Reason::unsupported_dilation);
  EXPECT_THAT(support("n=1 c=2 hw=9x9 k=2 rs=3x3 dilation=2x1").why(), HasSubstr("dilation 2x1"));
  EXPECT_EQ(support("n=1 c=4 hw=9x9 k=4 rs=3x3 groups=4").reason(), Reason::unsupported_groups);
  EXPECT_EQ(support("bf16 n=1 c=4 hw=9x9 k=4 rs=3x3").reason(), Reason::unsupported_math);
  EXPECT_EQ(support("chwn n=1 c=4 hw=9x9 k=4 rs=3x3").reason(), Reason::unsupported_layout);
}

TEST_P(FftCuda, RefusesAFilterOfOneTapWithItsReason) {
  const Support refusal = support("n=1 c=2 hw=9x9 k=2 rs=1x1");
  EXPECT_EQ(refusal.reason(), Reason::unsupported_filter);
  EXPECT_THAT(refusal.why(), HasSubstr("filter 1x1: "));
  EXPECT_TRUE(support("n=1 c=2 hw=9x9 k=2 rs=1x2"));
}
TEST_P(FftCuda, RefusesTensorsThatItCannotCountIn32Bits) {
  const Support refusal = support("n=4096 c=512 hw=56x56 k=8 rs=3x3");
  EXPECT_EQ(refusal.reason(), Reason::unsupported_size);
  EXPECT_THAT(refusal.why(), HasSubstr("input of 6576668672 elements"));
}

INSTANTIATE_TEST_SUITE_P(Rows, FftCuda, testing::Values("fft16.cuda", "fft32.cuda", "fft.full.cuda"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase_if(name, [](char c) { return c == '.'; });
                           return name;
                         });

using TiledFftCuda = FftCuda;

TEST_P(TiledFftCuda, IsRightWithStrides) {
  expect_right_in_all_forms("n=2 c=3 hw=12x15 k=4 rs=3x3 stride=2x1 pad=1x0");
}
TEST_P(TiledFftCuda, IsRightWhenTheStrideIsLargerThanTheFilter) {
  expect_right_in_all_forms("n=1 c=2 hw=10x9 k=3 rs=2x2 stride=3x3");
}
TEST_P(TiledFftCuda, IsRightOnTheFirstLayerOfAlexNetCropped) {
  expect_right_in_all_forms("n=1 c=3 hw=39x39 k=5 rs=11x11 stride=4x4");
}
TEST_P(TiledFftCuda, IsRightInSeveralBlocksOfTilesAndColumns) {
  const int64_t pixels = std::string(GetParam()) == "fft16.cuda" ? 65 : 145;  // 50 tiles
  for (const Pass pass : kPasses) {
    ConvProblem problem = parse_problem("n=2 c=34 k=34 hw=9x9 rs=3x3");
    problem.input = {pixels, pixels};
    problem.pass = pass;
    expect_right(problem, EmulatorOrder::random, 0);
  }
}
TEST_P(TiledFftCuda, StaysUnderTheWorkspaceCapByBlocking) {
  expect_under_cap("n=64 c=512 hw=56x56 k=512 rs=3x3 pad=1x1");
}
TEST_P(TiledFftCuda, RefusesAFilterThatFillsMoreThanATileWithItsReason) {
  const Support refusal = support("n=1 c=2 hw=50x50 k=2 rs=3x33");
  EXPECT_EQ(refusal.reason(), Reason::unsupported_filter);
  EXPECT_THAT(refusal.why(), HasSubstr("filter 3x33"));
}
TEST_P(TiledFftCuda, RefusesCoordinatesThatItCannotCountIn32BitsWithTheReason) {
  const Support refusal = support("n=1 c=1 hw=9x9 k=1 rs=3x3 stride=67108864x1");
  EXPECT_EQ(refusal.reason(), Reason::unsupported_size);
  EXPECT_THAT(refusal.why(), HasSubstr("reach coordinate 2147483657"));
}

INSTANTIATE_TEST_SUITE_P(Rows, TiledFftCuda, testing::Values("fft16.cuda", "fft32.cuda"),
                         [](const auto& row) { return std::string(row.param).substr(0, 5); });

class ProductCuda : public FftCuda {};

// More tiles, channels and results than a block of the product has rows, depth and columns.
TEST_P(ProductCuda, IsRightInSeveralBlocksOfTheProduct) {
  for (const char* line :
       {"forward n=67 c=9 hw=3x2 k=66 rs=2x2", "backward_data n=18 c=70 hw=3x2 k=17 rs=2x2",
        "backward_filter n=19 c=66 hw=2x3 k=65 rs=1x2"})
    expect_right(parse_problem(line), EmulatorOrder::random);
}
// 2048 tiles, one sum in registers.
TEST_P(ProductCuda, SumsManyTilesWithTheErrorPredicted) {
  const ConvProblem problem = parse_problem("backward_filter n=32 c=2 hw=112x112 k=2 rs=3x3 pad=1x1");
  constexpr double kOfTransforms = 5e-7;
  EmulatorDevice device;
  const auto plan = algorithm().plan(problem, device, {});
  EXPECT_GT(plan->longest_sum(), 2 * 2048);
  const double predicted = predicted_error(plan->longest_sum(), algorithm().sum_growth(problem));
  const auto queue = device.make_queue();
  const Accuracy accuracy =
      Verification(problem, {}).check_again(algorithm(), *plan, device, *queue).accuracy;
  EXPECT_LT(accuracy.relative_l2.value_or(1), 1.3 * predicted + kOfTransforms);
  EXPECT_GT(accuracy.relative_l2.value_or(0), 0.3 * predicted);
}
TEST_P(ProductCuda, IsRightOnTheThirdLayerOfAlexNetWithFewerChannels) {
  expect_right_in_all_forms("n=2 c=16 hw=13x13 k=24 rs=3x3 pad=1x1");
}

INSTANTIATE_TEST_SUITE_P(Rows, ProductCuda, testing::Values("fft16.cuda"),
                         [](const auto& row) { return std::string(row.param).substr(0, 5); });

class FullFftCuda : public FftCuda {};

TEST_P(FullFftCuda, StaysUnderTheWorkspaceCapByTakingFewerImages) {
  expect_under_cap("n=64 c=32 hw=56x56 k=48 rs=3x3 pad=1x1");
}
TEST_P(FullFftCuda, RefusesAStrideWithItsReason) {
  const Support refusal = support("n=1 c=2 hw=9x9 k=2 rs=3x3 stride=2x1");
  EXPECT_EQ(refusal.reason(), Reason::unsupported_stride);
  EXPECT_THAT(refusal.why(), HasSubstr("stride 2x1"));
}
TEST(FullSize, HasSmallPrimeFactorsAndAnEvenWidth) {
  const auto size = fft::full_size(parse_problem("n=1 c=1 hw=33x33 k=1 rs=3x3 pad=1x0"));
  EXPECT_EQ(size.h, 35);
  EXPECT_EQ(size.w, 36);
}

INSTANTIATE_TEST_SUITE_P(Rows, FullFftCuda, testing::Values("fft.full.cuda"),
                         [](const auto&) { return "full"; });

TEST(TiledBlocking, KeepsTilesInTheCacheOnlyWhereTheFilterIsSmall) {
  const auto blocking = [](const char* line) {
    const ConvProblem p = parse_problem(line);
    return fft::choose_tiled_blocking(fft::make_geometry(p, 16), 130, 1, 60 << 20, INT64_MAX);
  };
  EXPECT_LT(blocking("n=64 c=32 hw=224x224 k=32 rs=3x3 pad=1x1").tiles, 1000);
  EXPECT_EQ(blocking("n=64 c=384 hw=13x13 k=384 rs=3x3 pad=1x1").tiles, 64);
}

TEST(TiledBlocking, BlocksColumnsWhenTheFilterSpectraDoNotFitTheCap) {
  const ConvProblem p = parse_problem("n=8 c=512 hw=14x14 k=512 rs=3x3 pad=1x1");
  const fft::Geometry g = fft::make_geometry(p, 16);
  const auto whole = fft::choose_tiled_blocking(g, 130, 1, 0, INT64_MAX);
  EXPECT_TRUE(whole.keep_filters);
  EXPECT_EQ(whole.columns, 512);
  const auto part = fft::choose_tiled_blocking(g, 130, 1, 0, 128 << 20);
  EXPECT_FALSE(part.keep_filters);
  EXPECT_LT(part.columns, 512);
  EXPECT_LE(fft::spectra_bytes(g, 130, 1, part), 128 << 20);
}

// The smallest caps that can be met, and a few between.
TEST(TiledBlocking, MeetsEveryCapAboveTheSmallestWorkspace) {
  for (const char* line : {"n=9 c=5 hw=40x41 k=77 rs=3x3 pad=1x1", "n=2 c=1 hw=90x90 k=9 rs=3x3",
                           "backward_filter n=9 c=5 hw=40x41 k=77 rs=3x3", "n=70 c=9 hw=3x3 k=150 rs=2x2"}) {
    const fft::Geometry g = fft::make_geometry(parse_problem(line), 16);
    const auto bytes = [&](int64_t cap) {
      return fft::spectra_bytes(g, 130, 1, fft::choose_tiled_blocking(g, 130, 1, 0, cap));
    };
    const int64_t least = bytes(0), whole = bytes(INT64_MAX);
    EXPECT_LT(least, whole) << line;
    for (int64_t part = 0; part <= 64; ++part) {
      const int64_t cap = least + (whole - least) * part / 64;
      EXPECT_LE(bytes(cap), cap) << line;
    }
  }
}

TEST(TiledBlocking, TakesNoBlockSoSmallThatARunIsThousandsOfLaunches) {
  for (const char* line : {"n=256 c=384 hw=13x13 k=384 rs=3x3 pad=1x1", "n=256 c=64 hw=224x224 k=64 rs=3x3",
                           "n=64 c=4096 hw=8x8 k=4096 rs=2x2", "n=1 c=1 hw=9x9 k=1 rs=3x3"})
    for (const Pass pass : kPasses) {
      ConvProblem problem = parse_problem(line);
      problem.pass = pass;
      const fft::Geometry g = fft::make_geometry(problem, 16);
      const auto least = fft::choose_tiled_blocking(g, 130, 1, 0, 0);
      for (const int64_t cap : {int64_t{0}, int64_t{8} << 20, int64_t{256} << 20, INT64_MAX}) {
        const auto blocking = fft::choose_tiled_blocking(g, 130, 1, int64_t{50} << 20, cap);
        EXPECT_LE(fft::launches(g, blocking), 2000) << to_line(problem) << " cap " << cap;
        EXPECT_GE(blocking.columns, std::min<int64_t>(g.columns(), 32) / 2) << to_line(problem);
        EXPECT_GE(blocking.tiles, std::min<int64_t>(g.depth_is_tiles ? g.depth() : g.rows(), 32));
        const int64_t bytes = fft::spectra_bytes(g, 130, 1, blocking);
        EXPECT_TRUE(bytes <= cap || bytes == fft::spectra_bytes(g, 130, 1, least)) << to_line(problem);
      }
    }
}

}  // namespace
}  // namespace convscope
