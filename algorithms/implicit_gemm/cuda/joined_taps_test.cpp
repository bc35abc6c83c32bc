// The Hopper variant with the taps of a line joined, on the emulator, in the three orders of threads, against
// the f64 reference.
#include "algorithms/implicit_gemm/cuda/joined_taps.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "algorithms/implicit_gemm/cuda/hopper_plan.hpp"
#include "algorithms/implicit_gemm/implicit_gemm.hpp"
#include "bench/algorithm/predicted_error.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::implicit_gemm {
namespace {

// Strides that make a pixel 4, 8 and 12 channels, windows of one stage and of several, padding beside and
// above.
constexpr const char* kFewChannels[] = {
    "n=2 c=3 hw=15x17 k=6 rs=7x7 stride=2x2 pad=3x3",
    "n=2 c=1 hw=9x8 k=9 rs=3x3 pad=1x1",
    "n=1 c=5 hw=9x11 k=70 rs=2x5 stride=3x1 pad=0x4 dilation=2x1",
    "n=3 c=3 hw=6x23 k=8 rs=2x11 stride=1x4",
    "n=1 c=9 hw=5x12 k=12 rs=3x5 stride=1x2 pad=1x1",
    "n=2 c=2 hw=4x7 k=5 rs=1x2 stride=3x8 pad=2x5",
    "n=1 c=7 hw=7x21 k=10 rs=3x13 stride=2x1 pad=1x3",
};

class JoinedTapsOf : public ::testing::TestWithParam<EmulatorOrder> {
 protected:
  JoinedTapsOf() : device_({.order = GetParam(), .seed = 3}), queue_(device_.make_queue()) {
    add_implicit_gemm(registry_);
  }
  const Algorithm& variant() const { return *registry_.find("implicit_gemm.hopper.cuda"); }
  void expect_right(const ConvProblem& problem, Plan& plan) {
    const Verdict verdict = Verification(problem, {}).check(variant(), plan, device_, *queue_);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << ", " << plan.implementation() << ": "
                                  << verdict.note;
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  Registry registry_;
};

TEST_P(JoinedTapsOf, EveryTypeLayoutAndPassAreRight) {
  auto number = static_cast<int>(GetParam());
  for (const MathMode math : {MathMode::bf16, MathMode::fp16, MathMode::tf32})
    for (const char* shape : kFewChannels)
      for (const Layout layout : {Layout::nhwc, Layout::nchw})
        for (const Pass pass : {Pass::forward, Pass::backward_filter}) {
          ConvProblem problem = parse_problem(shape);
          problem.math = math;
          problem.layout = layout;
          problem.pass = pass;
          if (pass == Pass::backward_filter && math == MathMode::tf32) continue;
          if (number++ % 3 != 0) continue;  // the others are the other orders'
          EXPECT_TRUE(joined_taps(problem)) << to_line(problem);
          expect_right(problem, *variant().plan(problem, device_, {}));
        }
}

// An odd number of lines, of one slab of columns and of two; in one part and in several.
TEST_P(JoinedTapsOf, AFilterIsRightInEveryTileAndWithASplitDepth) {
  const char* lines[] = {"backward_filter bf16 nhwc n=3 c=3 hw=15x17 k=136 rs=7x7 stride=2x2 pad=3x3",
                         "backward_filter fp16 nchw n=2 c=4 hw=9x21 k=70 rs=3x17 pad=1x2"};
  auto number = static_cast<size_t>(GetParam());
  for (const HopperTile& tile : kGradientTiles)
    for (const int splits : {1, 3}) {
      const ConvProblem problem = parse_problem(lines[number++ % 2]);
      GradientWork work = gradient_work(problem, INT64_MAX);
      work.product.tile = tile;
      set_splits(work.product, splits);
      HopperFilterPlan plan(problem, work, DeviceKind::emulator);
      expect_right(problem, plan);
    }
}

INSTANTIATE_TEST_SUITE_P(Orders, JoinedTapsOf, ::testing::ValuesIn(kEveryOrder), order_name);

std::optional<JoinedTaps> joined(const char* line) {
  return joined_taps(parse_problem(line));
}

TEST(JoinedTaps, PixelsHaveAsManyElementsAsMakeWindowsBeginOnMultiplesOf16Bytes) {
  const auto alexnet = joined("bf16 nhwc n=256 c=3 hw=227x227 k=96 rs=11x11 stride=4x4");
  ASSERT_TRUE(alexnet);
  EXPECT_EQ(alexnet->input.pitch, 4);
  EXPECT_EQ(alexnet->window, 44);
  EXPECT_EQ(alexnet->window_pitch, 16);
  EXPECT_EQ(alexnet->windows, 55);
  EXPECT_EQ(joined("bf16 nchw n=1 c=3 hw=224x224 k=64 rs=3x3 pad=1x1")->input.pitch, 8);
  EXPECT_EQ(joined("tf32 nhwc n=1 c=3 hw=224x224 k=64 rs=7x7 stride=2x2 pad=3x3")->input.pitch, 4);
}

TEST(JoinedTaps, AreThereWhereTheyHalveTheStages) {
  EXPECT_TRUE(joined("backward_filter bf16 nhwc n=1 c=12 hw=9x9 k=4 rs=3x3"));
  EXPECT_FALSE(joined("bf16 nhwc n=1 c=33 hw=9x9 k=4 rs=3x3"));
  EXPECT_FALSE(joined("bf16 nhwc n=1 c=3 hw=9x9 k=4 rs=3x1"));
}

// What needs no workspace needs none for them.
TEST(JoinedTaps, AreNotThereWhereTmaReadsTheInputAsItLies) {
  EXPECT_FALSE(joined("bf16 nhwc n=1 c=16 hw=9x9 k=4 rs=3x3"));
  EXPECT_TRUE(joined("bf16 nchw n=1 c=16 hw=9x9 k=4 rs=3x3"));
  const ConvProblem problem = parse_problem("bf16 nhwc n=1 c=16 hw=9x9 k=4 rs=3x3");
  EXPECT_EQ(HopperPlan(problem, hopper_work(problem), DeviceKind::emulator).workspace_bytes(), 0);
}

// Input of 2 images and 15 lines: (15 - 7 + 1) / 2 windows and 7 taps make 16 pixels of 4 elements.
TEST(JoinedTaps, PlansCountWhatTheyPackAndMultiply) {
  const ConvProblem problem = parse_problem("bf16 nhwc n=2 c=3 hw=15x15 k=8 rs=7x7 stride=2x2");
  const HopperPlan plan(problem, hopper_work(problem), DeviceKind::emulator);
  const int64_t input = 2 * 15 * 16 * 4 * 2, filter = 8 * 7 * 32 * 2;
  EXPECT_EQ(plan.workspace_bytes(), round_up(input, 256) + round_up(filter, 256));
  EXPECT_TRUE(plan.has_prepare());
  const OperationCount count = plan.operations().value();
  EXPECT_EQ(count.product_flops, 2.0 * 128 * 64 * 7 * 32);  // a tile, 7 taps of 28 elements in steps of 16
  EXPECT_EQ(count.bytes, static_cast<double>(problem.total_bytes() + problem.bytes(Role::input) +
                                             problem.bytes(Role::filter) + input + filter));
  EXPECT_EQ(plan.truncation_error(), kTruncationOfWgmma * 7 * 2);
}

TEST(JoinedTaps, AreNotThereWherePixelsOfAWindowAreNoNeighbours) {
  EXPECT_FALSE(joined("backward_data bf16 nhwc n=1 c=3 hw=9x9 k=4 rs=3x3"));
  EXPECT_FALSE(joined("bf16 nhwc n=1 c=3 hw=9x9 k=4 rs=3x3 dilation=1x2"));
  EXPECT_FALSE(joined("bf16 nhwc n=1 c=6 hw=9x9 k=4 rs=3x3 groups=2"));
  EXPECT_FALSE(joined("bf16 nhwc n=4096 c=3 hw=512x512 k=4 rs=3x3"));  // over 2^31 elements
}

}  // namespace
}  // namespace convscope::implicit_gemm
