// The CUDA variants on the emulator against the f64 definition: random small problems in every pass and
// layout, the layers of AlexNet at the accuracy gate, the emulator's three orders, workspace caps, refusals,
// counts.
#include "algorithms/winograd/cuda/variants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "algorithms/winograd/cuda/plane_layout.hpp"
#include "algorithms/winograd/cuda/plane_product.hpp"
#include "algorithms/winograd/odd_problems_test.hpp"
#include "algorithms/winograd/winograd.hpp"
#include "bench/algorithm/predicted_error.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/verify/verifications_test.hpp"

namespace convscope {
namespace {

constexpr const char* kFused2 = "f2x2_3x3.fused";
constexpr const char* kFused4 = "f4x4_3x3.fused";

class WinogradCuda : public testing::Test {
 protected:
  WinogradCuda() { add_winograd(registry_); }

  const Algorithm& variant(const std::string& name) const {
    const Algorithm* const found = registry_.find("winograd." + name + ".cuda");
    if (found == nullptr) throw std::logic_error("no variant " + name);
    return *found;
  }
  void expect_right(const std::string& name, const ConvProblem& problem, const PlanOptions& options = {},
                    EmulatorOptions order = {}) {
    EmulatorDevice device(order);
    const Algorithm& algorithm = variant(name);
    const Support support = algorithm.supports(problem, device.info());
    ASSERT_TRUE(support) << name << " on " << to_line(problem) << ": " << support.why();
    const auto queue = device.make_queue();
    const auto plan = algorithm.plan(problem, device, options);
    const Verdict verdict = verifications_.of(problem).check(algorithm, *plan, device, *queue);
    EXPECT_TRUE(verdict.passed()) << name << " on " << to_line(problem) << " (" << plan->implementation()
                                  << "): " << verdict.note;
  }
  void expect_all_passes(const std::string& name, const std::string& shape, const PlanOptions& options = {},
                         EmulatorOptions order = {}) {
    for (const Pass pass : kPasses) {
      if (name.ends_with(".fused") && pass == Pass::backward_filter) continue;
      for (const char* layout : {"nchw", "nhwc"})
        expect_right(name,
                     parse_problem(std::string(convscope::name(pass)) + " fp32 " + layout + " " + shape),
                     options, order);
    }
  }
  void expect_refusal(const std::string& name, const std::string& line, Reason reason,
                      const std::string& why) {
    const Support support = variant(name).supports(parse_problem(line), EmulatorDevice().info());
    EXPECT_FALSE(support) << name << " on " << line;
    EXPECT_EQ(support.reason(), reason);
    EXPECT_THAT(support.why(), testing::HasSubstr(why));
  }

  OperationCount count(const std::string& name, const ConvProblem& problem, const PlanOptions& options = {}) {
    EmulatorDevice device;
    return variant(name).plan(problem, device, options)->operations().value();
  }

  Registry registry_;
  Verifications verifications_{{.seed = 11, .sampled_outputs = 256}};
};

TEST_F(WinogradCuda, FixedTilesAreRightOnRandomProblems) {
  OddProblems problems(1);
  for (int i = 0; i < problems_to_try(12); ++i) expect_right("f4x4_3x3", problems.next({3, 3}, {1, 1}));
  for (const char* name : {"f2x2_5x5", "f4x4_5x5"})
    for (int i = 0; i < problems_to_try(8); ++i) expect_right(name, problems.next({5, 5}, {1, 1}));
}

TEST_F(WinogradCuda, MixedTilesAreRightForEveryFilterUpToSevenTaps) {
  OddProblems problems(2);
  for (int64_t h = 1; h <= 7; ++h)
    for (int64_t w = h == 1 ? 2 : 1; w <= 7; ++w) expect_right("mixed", problems.next({h, w}, {1, 1}));
}

TEST_F(WinogradCuda, PolyphaseIsRightForEveryStride) {
  OddProblems problems(3);
  for (int i = 0; i < problems_to_try(30); ++i) {
    const Extent2 stride{problems.between(1, 4), problems.between(2, 4)};
    const Extent2 filter{problems.between(stride.h, 7), problems.between(stride.w + 1, 11)};
    expect_right("polyphase", problems.next(filter, stride));
  }
}

TEST_F(WinogradCuda, AnyOrderOfThreadsIsRight) {
  for (const EmulatorOrder order : {EmulatorOrder::reverse, EmulatorOrder::random}) {
    const EmulatorOptions options{order, 7};
    expect_all_passes("f4x4_3x3", "n=2 c=9 hw=9x10 k=17 rs=3x3 pad=1x1", {}, options);
    expect_all_passes("mixed", "n=3 c=5 hw=13x13 k=6 rs=3x3 pad=1x1", {}, options);
    expect_all_passes("polyphase", "n=2 c=3 hw=23x19 k=6 rs=7x7 stride=2x2 pad=3x3", {}, options);
  }
}

TEST_F(WinogradCuda, MeetsTheAccuracyGateOnTheLayersOfAlexNet) {
  expect_all_passes("polyphase", kSanitized ? "n=1 c=3 hw=67x67 k=8 rs=11x11 stride=4x4"
                                            : "n=1 c=3 hw=227x227 k=8 rs=11x11 stride=4x4");
  for (const char* name : {"f2x2_5x5", "f4x4_5x5", "mixed"})
    expect_all_passes(name, "n=1 c=12 hw=27x27 k=16 rs=5x5 pad=2x2");
  for (const char* name : {"f4x4_3x3", "mixed", kFused4})
    expect_all_passes(name, "n=1 c=64 hw=13x13 k=48 rs=3x3 pad=1x1");
}

// The images of known layers, a few of the batch, four channels, on a GPU that has no use for splits: a
// plane's sum runs over 2000 tiles and more. As one chain in registers the errors are above the limit.
TEST_F(WinogradCuda, FilterGradientsOfManyTilesStayBelowTheGateAsPredicted) {
  struct Layer {
    const char* variant;
    winograd::TileRule tiles;
    const char* shape;
  };
  const Layer kLayers[] = {
      {"polyphase", {}, "nchw n=24 c=4 hw=227x227 k=4 rs=11x11 stride=4x4"},  // AlexNet conv1
      {"f4x4_5x5", {4}, "nhwc n=56 c=4 hw=27x27 k=4 rs=5x5 pad=2x2"},         // AlexNet conv2
      {"mixed", {}, "nchw n=2 c=4 hw=224x224 k=4 rs=3x3 pad=1x1"},            // VGG conv1_2
      {"mixed", {}, "nhwc n=4 c=4 hw=149x149 k=4 rs=3x3"},                    // Inception v3 conv_1_1
  };
  if (kSanitized) GTEST_SKIP() << "of rounding alone, and large";
  for (const Layer& layer : kLayers) {
    const ConvProblem problem = parse_problem(std::string("backward_filter fp32 ") + layer.shape);
    SCOPED_TRACE(std::string(layer.variant) + " on " + to_line(problem));
    EmulatorDevice device;
    const auto queue = device.make_queue();
    const Algorithm& algorithm = variant(layer.variant);
    DeviceInfo small;
    small.kind = DeviceKind::cuda;
    small.cores = 32;
    small.llc_bytes = int64_t{1} << 30;
    const auto plan = emulated::make_nonfused_plan(winograd::make_geometry(problem, layer.tiles), small, {});
    const double predicted = predicted_error(plan->longest_sum(), algorithm.sum_growth(problem));
    Verification verification(problem, {.seed = 3, .sampled_outputs = 1024});
    const Accuracy accuracy = verification.check_again(algorithm, *plan, device, *queue).accuracy;
    ASSERT_TRUE(accuracy.relative_l2.has_value());
    EXPECT_LT(*accuracy.relative_l2, kPredictedPartOfGate * accuracy.gate) << plan->implementation();
    EXPECT_LT(*accuracy.relative_l2, 1.3 * predicted) << plan->implementation();
    EXPECT_GT(*accuracy.relative_l2, 0.3 * predicted) << plan->implementation();
  }
}

TEST_F(WinogradCuda, FusedKernelsAreRightOnRandomProblems) {
  for (const char* name : {kFused2, kFused4}) {
    OddProblems problems(4);
    for (int i = 0; i < problems_to_try(24); ++i) {
      ConvProblem problem = problems.next({3, 3}, {1, 1});
      if (problem.pass == Pass::backward_filter) problem.pass = Pass::backward_data;
      expect_right(name, problem);
    }
  }
}

TEST_F(WinogradCuda, FusedKernelsAreRightInAnyOrderOfThreads) {
  for (const char* name : {kFused2, kFused4})
    for (const EmulatorOrder order : {EmulatorOrder::reverse, EmulatorOrder::random})
      expect_all_passes(name, "n=2 c=18 hw=9x10 k=17 rs=3x3 pad=1x1", {}, {order, 7});
}

TEST_F(WinogradCuda, FusedKernelsAreRightForEveryRestOfATileAndPadding) {
  for (const char* name : {kFused2, kFused4})
    for (const char* shape : {"hw=8x8 k=5 rs=3x3 pad=1x1", "hw=3x11 k=5 rs=3x3", "hw=7x4 k=5 rs=3x3 pad=2x0",
                              "hw=5x9 k=5 rs=3x3 pad=0x2", "hw=1x1 k=5 rs=3x3 pad=1x1"})
      expect_all_passes(name, std::string("n=3 c=3 ") + shape);
}

TEST_F(WinogradCuda, FusedKernelsAreRightWithGroupsAndManyBlocks) {
  for (const char* name : {kFused2, kFused4}) {
    expect_all_passes(name, "n=1 c=12 hw=9x9 k=15 rs=3x3 pad=1x1 groups=3");
    expect_all_passes(name, "n=2 c=33 hw=13x13 k=72 rs=3x3 pad=1x1");
  }
}

TEST_F(WinogradCuda, FusedKernelsRefuseBackwardFilterWithItsReason) {
  for (const char* name : {kFused2, kFused4})
    expect_refusal(name, "backward_filter fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_pass,
                   "over tiles");
}

TEST_F(WinogradCuda, FusedKernelsRefuseAGpuWithTooLittleSharedMemory) {
  const ConvProblem problem = parse_problem("forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3");
  DeviceInfo gpu{.kind = DeviceKind::cuda, .name = "GPU", .instructions = "sm_89", .l1_bytes = 100 * 1024};
  EXPECT_TRUE(variant(kFused2).supports(problem, gpu));
  const Support small = variant(kFused4).supports(problem, gpu);
  EXPECT_EQ(small.reason(), Reason::device_missing);
  EXPECT_THAT(small.why(), testing::HasSubstr("145 KiB of shared memory"));
  gpu.l1_bytes = 164 * 1024;
  EXPECT_TRUE(variant(kFused4).supports(problem, gpu));
}

TEST_F(WinogradCuda, FusedKernelsKeepOnlyTheFiltersInTheWorkspace) {
  EmulatorDevice device;
  for (const char* batch : {"n=1", "n=64"}) {
    const ConvProblem problem =
        parse_problem(std::string("forward fp32 nchw c=8 hw=9x9 k=12 rs=3x3 ") + batch);
    EXPECT_EQ(variant(kFused2).plan(problem, device, {})->workspace_bytes(), 16 * 8 * 12 * 4);
    EXPECT_EQ(variant(kFused4).plan(problem, device, {})->workspace_bytes(), 36 * 8 * 12 * 4);
  }
}

TEST_F(WinogradCuda, FusedKernelsCountTheirBlocksAndRepeatedTransforms) {
  // F(2x2): 2 * 49 tiles, padded to 128, 65 channels to 128, 5 to 8. F(4x4): 2 * 16 tiles, 65 channels to 96.
  const ConvProblem wide = parse_problem("forward fp32 nchw n=2 c=5 hw=13x13 k=65 rs=3x3 pad=1x1");
  EXPECT_EQ(count(kFused2, wide).product_flops, 2.0 * 16 * 128 * 128 * 8);
  EXPECT_EQ(count(kFused4, wide).product_flops, 2.0 * 36 * 96 * 32 * 8);
  const ConvProblem narrow = parse_problem("forward fp32 nchw n=2 c=5 hw=13x13 k=64 rs=3x3 pad=1x1");
  EXPECT_GT(count(kFused2, wide).transform_flops - count(kFused2, narrow).transform_flops, 2.0 * 49 * 5 * 32);
  EXPECT_GT(count(kFused4, wide).transform_flops - count(kFused4, narrow).transform_flops,
            2.0 * 16 * 5 * 144);
}

TEST_F(WinogradCuda, EveryBlockTileOfTheProductIsRight) {
  // 64, 96 and 128 channels choose the block tiles of as many rows; 200 need two of 128 and leave a rest. The
  // rows are of k in some passes and of c in others.
  for (const char* channels : {"c=9 k=96", "c=96 k=9", "c=9 k=128", "c=128 k=9", "c=9 k=200", "c=200 k=9"})
    expect_all_passes("f4x4_3x3", std::string("n=3 hw=4x8 rs=3x3 pad=1x1 ") + channels);
}

// One run of sums in registers to its last product; one and a rest.
TEST_F(WinogradCuda, SumsOfSeveralRunsAreRight) {
  static_assert(winograd::kGemmRun == 512);
  for (const char* channels : {"c=512 k=5", "c=5 k=516"})
    expect_all_passes("f4x4_3x3", std::string("n=1 hw=5x4 rs=3x3 pad=1x1 ") + channels);
}

TEST_F(WinogradCuda, GroupsAreRight) {
  expect_all_passes("f4x4_3x3", "n=2 c=12 hw=9x9 k=15 rs=3x3 pad=1x1 groups=3");
  expect_all_passes("polyphase", "n=1 c=6 hw=11x12 k=10 rs=5x5 stride=2x2 pad=2x2 groups=2");
}

// Channels of three groups, padded lanes, several blocks, tiles of two sizes, chunks of one image.
TEST_F(WinogradCuda, ForwardAppliesEveryEpilogueOnce) {
  for (const char* epilogue : {"relu", "bias", "bias+relu"})
    for (const char* layout : {"nchw", "nhwc"}) {
      const auto finishes = [&](const char* name, const std::string& shape, const PlanOptions& options = {}) {
        expect_right(name, parse_problem(std::string(layout) + " " + shape + " epilogue=" + epilogue),
                     options);
      };
      const std::string groups = "n=2 c=12 hw=9x9 k=15 rs=3x3 pad=1x1 groups=3";
      for (const char* name : {kFused2, kFused4, "f4x4_3x3", "mixed"}) finishes(name, groups);
      finishes(kFused2, "n=1 c=3 hw=5x5 k=72 rs=3x3 pad=1x1");
      finishes("mixed", groups, {.workspace_cap = 1});
      finishes("f2x2_5x5", "n=1 c=4 hw=6x7 k=5 rs=5x5");
      finishes("polyphase", "n=2 c=6 hw=11x12 k=10 rs=5x5 stride=2x2 pad=2x2 groups=2");
    }
}

TEST_F(WinogradCuda, StaysUnderAWorkspaceCapWithSmallerChunks) {
  EmulatorDevice device;
  for (const Pass pass : kPasses) {
    ConvProblem problem = parse_problem("forward fp32 nchw n=5 c=8 hw=13x13 k=12 rs=3x3 pad=1x1");
    problem.pass = pass;
    const Algorithm& mixed = variant("mixed");
    const int64_t free = mixed.plan(problem, device, {})->workspace_bytes();
    const PlanOptions capped{.workspace_cap = free * 3 / 4};
    const auto plan = mixed.plan(problem, device, capped);
    EXPECT_LE(plan->workspace_bytes(), capped.workspace_cap);
    expect_right("mixed", problem, capped);
    expect_right("mixed", problem, {.workspace_cap = 1});  // one image at a time, the minimum
  }
}

TEST_F(WinogradCuda, PreparesTheFilterOnlyWhereThereIsOne) {
  EmulatorDevice device;
  ConvProblem problem = parse_problem("forward fp32 nchw n=1 c=4 hw=8x8 k=4 rs=3x3 pad=1x1");
  EXPECT_TRUE(variant("mixed").plan(problem, device, {})->has_prepare());
  problem.pass = Pass::backward_filter;
  EXPECT_FALSE(variant("mixed").plan(problem, device, {})->has_prepare());
}

TEST_F(WinogradCuda, MarksTransformProductAndInverseAsPhases) {
  EmulatorDevice device;
  const auto queue = device.make_queue();
  const ConvProblem problem = parse_problem("forward fp32 nhwc n=1 c=4 hw=8x8 k=4 rs=3x3 pad=1x1");
  const auto plan = variant("f4x4_3x3").plan(problem, device, {});
  Operands operands = make_operands(problem, device, DataKind::uniform, 5);
  Buffer workspace(device, static_cast<size_t>(plan->workspace_bytes()));
  queue->begin_timing();
  plan->prepare(operands.args(workspace.data()), *queue);
  plan->run(operands.args(workspace.data()), *queue);
  const Timing timing = queue->end_timing();
  for (const Phase phase : {Phase::prepare, Phase::transform, Phase::product, Phase::inverse})
    EXPECT_TRUE(timing.phase_seconds[static_cast<size_t>(phase)].has_value()) << static_cast<int>(phase);
}

TEST_F(WinogradCuda, CountsThePaddingOfItsBlockTiles) {
  // 36 planes of 2 * 16 tiles, padded to 128, of 64 channels; a depth of 5 is padded to 8.
  const ConvProblem conv3 = parse_problem("forward fp32 nchw n=2 c=5 hw=13x13 k=7 rs=3x3 pad=1x1");
  EXPECT_EQ(count("f4x4_3x3", conv3).product_flops, 2.0 * 36 * 64 * 128 * 8);
  EXPECT_GT(count("f4x4_3x3", conv3).transform_flops, 0);
}

TEST_F(WinogradCuda, CountsOnlyPixelsInsideOfLinesThatItWrites) {
  // Four tiles of four pixels each: 16 pixels fill them, 15 leave one out. Two images, four rows of tiles and
  // seven channels have such a pixel; a line of the inverse, 6 numbers to 4, takes more than ten operations.
  const ConvProblem full = parse_problem("forward fp32 nchw n=2 c=5 hw=16x16 k=7 rs=3x3 pad=1x1");
  const ConvProblem cut = parse_problem("forward fp32 nchw n=2 c=5 hw=16x15 k=7 rs=3x3 pad=1x1");
  const OperationCount of_full = count("f4x4_3x3", full), of_cut = count("f4x4_3x3", cut);
  EXPECT_EQ(of_full.product_flops, of_cut.product_flops);
  EXPECT_GT(of_full.transform_flops - of_cut.transform_flops, 10.0 * 2 * 4 * 7);
}

TEST_F(WinogradCuda, CountsThePaddingOfEachChunk) {
  // 16 tiles of one image are padded to 128, as those of two images are.
  const ConvProblem forward = parse_problem("forward fp32 nchw n=2 c=5 hw=13x13 k=7 rs=3x3 pad=1x1");
  EXPECT_EQ(count("f4x4_3x3", forward, {.workspace_cap = 1}).product_flops,
            2 * count("f4x4_3x3", forward).product_flops);
}

// 8 points a tile, where the CPU takes 12.
TEST_F(WinogradCuda, ExpectsTheErrorsOfItsOwnTilesForFiltersOfOneRow) {
  const ConvProblem row = parse_problem("forward fp32 nchw n=1 c=4 hw=1x12 k=4 rs=1x7 pad=0x3");
  EXPECT_LT(variant("mixed").error_growth(row), registry_.find("winograd.mixed.cpu")->error_growth(row));
}

TEST_F(WinogradCuda, RefusesWhatTheTilesCannotDo) {
  expect_refusal("f4x4_3x3", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3 stride=2x2",
                 Reason::unsupported_stride, "stride 2x2");
  expect_refusal("mixed", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x8", Reason::unsupported_filter,
                 "2 to 7 taps");
  expect_refusal("polyphase", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_stride,
                 "stride 1x1");
  expect_refusal("mixed", "forward fp32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3 dilation=2x2",
                 Reason::unsupported_dilation, "dilation 2x2");
  expect_refusal("mixed", "forward tf32 nchw n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_math, "tf32");
  expect_refusal("mixed", "forward fp32 chwn n=1 c=4 hw=9x9 k=4 rs=3x3", Reason::unsupported_layout, "chwn");
  expect_refusal("polyphase", "forward fp32 nchw n=1 c=4 hw=40x40 k=4 rs=20x20 stride=10x10",
                 Reason::unsupported_stride, "100 residues");
  expect_refusal("f2x2_5x5", "forward fp32 nchw n=1 c=1 hw=131076x65540 k=1 rs=5x5", Reason::unsupported_size,
                 "8589934592 elements");
}

// Whose count would be negative: 2^20 of each image.
TEST_F(WinogradCuda, TakesNoChunkOfMoreTilesThan32BitsCount) {
  const auto geometry = winograd::make_geometry(parse_problem("n=2048 c=1 hw=2052x2052 k=1 rs=5x5"), {2});
  EXPECT_LE(winograd::chunking(geometry, {}, {}).images, 14) << "with 36 planes of four lanes 2^31 floats";
}

}  // namespace
}  // namespace convscope
