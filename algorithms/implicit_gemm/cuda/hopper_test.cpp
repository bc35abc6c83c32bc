// The Hopper variant on the emulator, in the three orders of threads, against the f64 reference: odd shapes
// in all passes, layouts and types, every tile, boxes of all kinds, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/implicit_gemm/cuda/hopper_plan.hpp"
#include "algorithms/implicit_gemm/implicit_gemm.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::implicit_gemm {
namespace {

using ::testing::HasSubstr;

constexpr const char* kId = "implicit_gemm.hopper.cuda";

// Channels a multiple of 16 bytes: TMA reads NHWC as it lies.
constexpr const char* kAligned[] = {
    "n=1 c=8 hw=1x1 k=8 rs=1x1",
    "n=3 c=16 hw=5x9 k=24 rs=1x1",
    "n=2 c=72 hw=6x5 k=16 rs=1x1 stride=2x2",
    "n=3 c=40 hw=7x6 k=72 rs=3x3 pad=1x1",
    "n=1 c=8 hw=13x11 k=8 rs=5x5 pad=2x2",
    "n=2 c=16 hw=12x15 k=8 rs=3x3 stride=2x1 pad=1x0",
    "n=2 c=8 hw=15x14 k=16 rs=3x3 pad=2x2 dilation=2x2",
    "n=1 c=8 hw=20x17 k=8 rs=3x4 stride=4x3 pad=1x2 dilation=2x3",
    "n=2 c=48 hw=6x7 k=24 rs=3x3 pad=1x1 groups=3",
    "n=1 c=8 hw=3x3 k=8 rs=2x2 pad=4x4",
    "n=1 c=8 hw=10x9 k=8 rs=2x2 stride=3x3",
};

// Channels that must be repacked, in NHWC too.
constexpr const char* kUnaligned[] = {
    "n=1 c=1 hw=1x1 k=1 rs=1x1",
    "n=2 c=5 hw=7x6 k=9 rs=3x3 pad=1x1",
    "n=1 c=3 hw=15x17 k=6 rs=7x7 stride=2x2 pad=3x3",
    "n=2 c=9 hw=5x6 k=15 rs=3x3 pad=1x1 groups=3",
    "n=2 c=6 hw=6x5 k=6 rs=3x3 pad=1x1 groups=6",
    "n=2 c=4 hw=17x13 k=3 rs=3x3 stride=2x2 pad=2x2 dilation=2x2",
};

// As in AlexNet, VGG and ResNet, with fewer images and channels.
constexpr const char* kNetworkShapes[] = {
    "nhwc n=1 c=3 hw=27x27 k=96 rs=11x11 stride=4x4", "nhwc n=1 c=24 hw=14x27 k=64 rs=5x5 pad=2x2",
    "nhwc n=2 c=48 hw=13x13 k=96 rs=3x3 pad=1x1",     "nchw n=1 c=16 hw=28x28 k=32 rs=3x3 pad=1x1",
    "nhwc n=2 c=64 hw=14x14 k=64 rs=1x1 stride=2x2",
};
constexpr const char* kNetworkFilters[] = {
    "backward_filter nhwc n=1 c=3 hw=27x27 k=96 rs=11x11 stride=4x4",
    "backward_filter nhwc n=1 c=24 hw=9x13 k=64 rs=5x5 pad=2x2",
    "backward_filter nhwc n=2 c=48 hw=13x13 k=96 rs=3x3 pad=1x1",
    "backward_filter nchw n=1 c=16 hw=14x28 k=32 rs=3x3 pad=1x1",
    "backward_filter nhwc n=2 c=64 hw=14x14 k=64 rs=1x1 stride=2x2",
};

class Hopper : public ::testing::TestWithParam<EmulatorOrder> {
 protected:
  Hopper() : device_({.order = GetParam(), .seed = 3}), queue_(device_.make_queue()) {
    add_implicit_gemm(registry_);
  }
  const Algorithm& variant() const { return *registry_.find(kId); }

  void expect_right(const ConvProblem& problem, Plan& plan) {
    const Verdict verdict = Verification(problem, {}).check(variant(), plan, device_, *queue_);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << ", " << plan.implementation() << ": "
                                  << verdict.note;
  }
  void expect_right(const ConvProblem& problem) {
    ASSERT_TRUE(variant().supports(problem, device_.info())) << to_line(problem);
    expect_right(problem, *variant().plan(problem, device_, {}));
  }
  // In runs where they reach, whether the plan would take them or not.
  void expect_right_in_tile(const ConvProblem& problem, const HopperTile& tile, int splits = 1) {
    if (problem.pass == Pass::backward_filter) {
      GradientWork work = gradient_work(problem, INT64_MAX);
      const int bytes = narrow(bytes_per_element(storage_type(problem.math)));
      cut(work.product, runs_reach(work.product, work.product.groups, work.product.columns, bytes),
          kStagePixels, kWgmmaPixels);
      work.product.all_loads = narrow(loads(work.product));
      work.product.tile = tile;
      set_splits(work.product, splits);
      HopperFilterPlan plan(problem, work, DeviceKind::emulator);
      return expect_right(problem, plan);
    }
    HopperWork work = hopper_work(problem);
    for (BoxedProduct& product : work.products) set_tile(product, tile);
    HopperPlan plan(problem, work, DeviceKind::emulator);
    expect_right(problem, plan);
  }

  // Where runs would reach all taps, too.
  void expect_right_in_boxes(const ConvProblem& problem) {
    if (problem.pass == Pass::backward_filter) {
      GradientWork work = gradient_work(problem, INT64_MAX);
      cut(work.product, false, kStagePixels, kWgmmaPixels);
      work.product.all_loads = narrow(loads(work.product));
      set_splits(work.product, 1);
      HopperFilterPlan plan(problem, work, DeviceKind::emulator);
      return expect_right(problem, plan);
    }
    HopperWork work = hopper_work(problem);
    for (BoxedProduct& product : work.products) cut(product, false, product.tile.rows, product.tile.rows);
    HopperPlan plan(problem, work, DeviceKind::emulator);
    expect_right(problem, plan);
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  Registry registry_;
};

// All shapes in all passes that the type has and in both layouts.
std::vector<ConvProblem> problems(std::span<const char* const> shapes, MathMode math) {
  std::vector<ConvProblem> all;
  for (const char* shape : shapes)
    for (Layout layout : {Layout::nhwc, Layout::nchw})
      for (Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
        if (pass == Pass::backward_filter && math == MathMode::tf32) continue;
        ConvProblem& problem = all.emplace_back(parse_problem(shape));
        problem.pass = pass;
        problem.layout = layout;
        problem.math = math;
      }
  return all;
}

// One of `parts` parts of a list, another one for each order and type. No multiple of 3, that all passes
// occur.
std::vector<ConvProblem> share(const std::vector<ConvProblem>& all, EmulatorOrder order, size_t type,
                               size_t parts = 10) {
  std::vector<ConvProblem> mine;
  for (size_t i = (static_cast<size_t>(order) + 3 * type) % parts; i < all.size(); i += parts)
    mine.push_back(all[i]);
  return mine;
}

TEST_P(Hopper, IsRightInBf16WhereTmaReadsTheTensorAsItLies) {
  for (const ConvProblem& problem : share(problems(kAligned, MathMode::bf16), GetParam(), 0))
    expect_right(problem);
}

TEST_P(Hopper, IsRightInFp16WhereTmaReadsTheTensorAsItLies) {
  for (const ConvProblem& problem : share(problems(kAligned, MathMode::fp16), GetParam(), 1))
    expect_right(problem);
}

TEST_P(Hopper, IsRightInTf32WhereTmaReadsTheTensorAsItLies) {
  for (const ConvProblem& problem : share(problems(kAligned, MathMode::tf32), GetParam(), 2))
    expect_right(problem);
}

TEST_P(Hopper, IsRightWhereChannelsAreNoMultipleOf16Bytes) {
  size_t type = 0;
  for (const MathMode math : {MathMode::bf16, MathMode::fp16, MathMode::tf32})
    for (const ConvProblem& problem : share(problems(kUnaligned, math), GetParam(), type++, 13))
      expect_right(problem);
}

TEST_P(Hopper, IsRightOnShapesOfKnownNetworks) {
  constexpr MathMode kMath[] = {MathMode::bf16, MathMode::fp16, MathMode::tf32};
  const auto order = static_cast<size_t>(GetParam());
  for (size_t i = 0; i < std::size(kNetworkShapes); ++i) {
    if (i % 3 == order) continue;
    ConvProblem problem = parse_problem(kNetworkShapes[i]);
    problem.math = kMath[order];
    expect_right(problem);
  }
}

TEST_P(Hopper, IsRightForTheFiltersOfKnownNetworks) {
  const auto order = static_cast<size_t>(GetParam());
  for (size_t i = 0; i < std::size(kNetworkFilters); ++i) {
    if (i % 3 != order) continue;
    ConvProblem problem = parse_problem(kNetworkFilters[i]);
    problem.math = (i + order) % 2 ? MathMode::bf16 : MathMode::fp16;
    expect_right(problem);
  }
}

// More than one tile each way with a rest, and more stages of depth than the ring has.
TEST_P(Hopper, IsRightInEveryTile) {
  constexpr MathMode kMath[] = {MathMode::fp16, MathMode::tf32, MathMode::bf16};
  constexpr const char* kLines[] = {"nhwc n=2 c=72 hw=11x17 k=136 rs=1x3 pad=0x1",
                                    "backward_data nchw n=1 c=70 hw=23x14 k=8 rs=3x3 stride=2x2 pad=1x1"};
  size_t number = static_cast<size_t>(GetParam());
  for (const HopperTile& tile : kHopperTiles) {
    ConvProblem problem = parse_problem(kLines[number++ % 2]);
    problem.math = kMath[static_cast<size_t>(GetParam())];
    expect_right_in_tile(problem, tile);
  }
}

// Columns that fill tiles of 96 and 192, that leave a rest in the last and that are fewer than a tile has;
// odd numbers of pixels, in the two passes that take these tiles.
TEST_P(Hopper, IsRightInTilesOf96AndOf192Columns) {
  constexpr MathMode kMath[] = {MathMode::bf16, MathMode::fp16, MathMode::tf32};
  constexpr const char* kLines[] = {
      "nhwc n=1 c=8 hw=9x7 k=96 rs=3x3 pad=1x1",
      "backward_data nhwc n=1 c=192 hw=13x11 k=16 rs=1x3 pad=0x1",
      "nhwc n=3 c=24 hw=11x13 k=200 rs=1x1 stride=2x1",
      "backward_data nchw n=1 c=98 hw=17x9 k=8 rs=2x3 stride=2x2 pad=1x1",
      "nchw n=1 c=3 hw=21x35 k=95 rs=5x5 stride=2x3 pad=2x1",
      "backward_data nhwc n=2 c=70 hw=5x7 k=72 rs=3x3 pad=1x1 dilation=2x1",
      "nhwc n=1 c=48 hw=7x9 k=288 rs=2x2 pad=1x1 groups=3",
      "backward_data nhwc n=1 c=224 hw=9x5 k=32 rs=1x2 groups=2",
  };
  const auto order = static_cast<size_t>(GetParam());
  for (size_t i = 0; i < std::size(kLines); ++i)
    for (const HopperTile& tile : {HopperTile{256, 96}, HopperTile{128, 96}, HopperTile{128, 192}}) {
      if ((i + static_cast<size_t>(tile.rows + tile.columns) / 32) % 3 == order) continue;
      ConvProblem problem = parse_problem(kLines[i]);
      problem.math = kMath[(i / 2 + order) % 3];
      expect_right_in_tile(problem, tile);
    }
}

// A prime number of pixels across, more than a tile has: the last box of a line reaches past its end, where
// the next line begins.
TEST_P(Hopper, IsRightWhereABoxReachesPastTheEndOfALine) {
  for (const char* line : {"bf16 nhwc n=1 c=8 hw=2x263 k=8 rs=1x1",
                           "backward_data tf32 nchw n=1 c=8 hw=2x263 k=8 rs=1x3 pad=0x1"}) {
    expect_right_in_boxes(parse_problem(line));
    expect_right(parse_problem(line));
  }
}

TEST_P(Hopper, IsRightInBoxesWhereRunsWouldReachToo) {
  size_t type = 0;
  for (const MathMode math : {MathMode::bf16, MathMode::fp16, MathMode::tf32})
    for (const auto& shapes : {problems(kAligned, math), problems(kUnaligned, math)})
      for (const ConvProblem& problem : share(shapes, GetParam(), type++, 13)) expect_right_in_boxes(problem);
}

// Corners beyond 127 and offsets beyond 255 pixels, which TMA's runs do not have.
TEST_P(Hopper, IsRightInBoxesWhereRunsDoNotReach) {
  for (const char* line : {"bf16 nhwc n=1 c=8 hw=2x3 k=8 rs=1x2 pad=0x129 dilation=1x260",
                           "backward_filter fp16 nhwc n=1 c=8 hw=1x300 k=8 rs=1x2 dilation=1x257",
                           "backward_data bf16 nhwc n=2 c=8 hw=3x140 k=8 rs=1x2 dilation=1x131"}) {
    const ConvProblem problem = parse_problem(line);
    EXPECT_THAT(variant().plan(problem, device_, {})->implementation(), HasSubstr("boxes")) << line;
    expect_right(problem);
  }
}

// Several boxes across, down and over the images, each of several pixels that way; with steps.
TEST_P(Hopper, IsRightForAFilterOverBoxesInEveryDirection) {
  for (const char* line : {"backward_filter bf16 nhwc n=1 c=8 hw=9x140 k=8 rs=1x1 stride=2x2",
                           "backward_filter fp16 nhwc n=1 c=8 hw=70x21 k=8 rs=1x1 stride=2x2",
                           "backward_filter bf16 nhwc n=20 c=8 hw=5x5 k=8 rs=1x1 stride=2x2"})
    expect_right_in_boxes(parse_problem(line));
}

// The same of D as a filter, in one part and in several, the last of them shorter.
TEST_P(Hopper, IsRightInEveryTileOfTheFilterAndWithASplitDepth) {
  constexpr const char* kLines[] = {
      "backward_filter nhwc n=3 c=132 hw=5x7 k=136 rs=1x2 pad=0x1",
      "backward_filter nchw n=5 c=66 hw=13x14 k=130 rs=2x1 stride=2x2 pad=1x1 groups=2"};
  const auto order = static_cast<size_t>(GetParam());
  size_t number = order;
  for (const HopperTile& tile : kGradientTiles) {
    ConvProblem problem = parse_problem(kLines[number % 2]);
    problem.math = number % 2 ? MathMode::bf16 : MathMode::fp16;
    expect_right_in_tile(problem, tile, number % 3 == 0 ? 1 : 3);
    ++number;
  }
}

// Columns of several groups and of tiles that they do not fill, read as they lie and repacked, in every tile.
TEST_P(Hopper, AppliesEveryEpilogueInTf32) {
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu})
    for (const HopperTile& tile : kHopperTiles)
      for (const char* line : {"tf32 nhwc n=2 c=8 hw=6x7 k=140 rs=3x3 pad=1x1",
                               "tf32 nchw n=1 c=9 hw=5x6 k=15 rs=3x3 pad=1x1 groups=3"}) {
        ConvProblem problem = parse_problem(line);
        problem.epilogue = epilogue;
        expect_right_in_tile(problem, tile);
      }
}

INSTANTIATE_TEST_SUITE_P(Orders, Hopper, ::testing::ValuesIn(kEveryOrder), order_name);

class HopperRow : public ::testing::Test {
 protected:
  HopperRow() { add_implicit_gemm(registry_); }
  Support supports(const char* line) const {
    return registry_.find(kId)->supports(parse_problem(line), gpu_);
  }
  Registry registry_;
  DeviceInfo gpu_{.kind = DeviceKind::cuda, .name = "GPU", .instructions = "sm_90"};
};

TEST_F(HopperRow, RefusesWhatItCannotComputeWithTheReason) {
  EXPECT_TRUE(supports("bf16 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3"));
  EXPECT_EQ(supports("fp32 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3").reason(), Reason::unsupported_math);
  EXPECT_EQ(supports("3xtf32 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3").reason(), Reason::unsupported_math);
  EXPECT_EQ(supports("bf16 chwn n=1 c=8 hw=9x9 k=4 rs=3x3").reason(), Reason::unsupported_layout);
  EXPECT_TRUE(supports("backward_filter bf16 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3"));
  EXPECT_EQ(supports("backward_filter tf32 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3").reason(),
            Reason::unsupported_math);
  EXPECT_THAT(supports("backward_filter tf32 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3").why(), HasSubstr("wgmma"));
  EXPECT_EQ(supports("backward_filter bf16 nhwc n=1 c=8 hw=99x99 k=4 rs=3x3 stride=9x1").reason(),
            Reason::unsupported_stride);
  EXPECT_TRUE(supports("bf16 nhwc n=1 c=8 hw=99x99 k=4 rs=3x3 stride=8x8"));
  EXPECT_TRUE(supports("backward_data bf16 nhwc n=1 c=8 hw=99x99 k=4 rs=3x3 stride=9x9"));
  EXPECT_EQ(supports("bf16 nhwc n=1 c=8 hw=99x99 k=4 rs=3x3 stride=1x9").reason(),
            Reason::unsupported_stride);
  EXPECT_THAT(supports("bf16 nhwc n=1 c=8 hw=99x99 k=4 rs=3x3 stride=1x9").why(), HasSubstr("stride 9"));
}

TEST_F(HopperRow, RunsOnHopperAndTheEmulatorOnly) {
  const char* line = "bf16 nhwc n=1 c=8 hw=9x9 k=4 rs=3x3";
  for (const char* other : {"sm_80", "sm_100"}) {
    gpu_.instructions = other;
    EXPECT_EQ(supports(line).reason(), Reason::device_missing);
    EXPECT_THAT(supports(line).why(), HasSubstr(other));
  }
  gpu_ = EmulatorDevice().info();
  EXPECT_TRUE(supports(line));
  gpu_ = CpuDevice().info();
  EXPECT_EQ(supports(line).reason(), Reason::device_missing);
}

}  // namespace
}  // namespace convscope::implicit_gemm
