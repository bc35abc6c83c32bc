// The CUDA variants of the direct method on the emulator, in every order of threads, against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/direct/cuda/geometry.hpp"
#include "algorithms/direct/cuda/plans.hpp"
#include "algorithms/direct/direct.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

constexpr EmulatorOptions kForward{.order = EmulatorOrder::forward};
constexpr EmulatorOptions kReverse{.order = EmulatorOrder::reverse};
constexpr EmulatorOptions kRandom{.order = EmulatorOrder::random, .seed = 7};

class DirectCuda : public ::testing::Test {
 protected:
  DirectCuda() { add_direct(registry_); }

  const Algorithm& variant(std::string_view id) const { return *registry_.find(id); }

  void expect_right(std::string_view id, const ConvProblem& problem, const EmulatorOptions& order = kRandom,
                    const PlanOptions& options = {}) {
    SCOPED_TRACE(std::string(id) + " " + to_line(problem));
    EmulatorDevice device(order);
    const auto queue = device.make_queue();
    const Support support = variant(id).supports(problem, device.info());
    ASSERT_TRUE(support) << support.why();
    const auto plan = variant(id).plan(problem, device, options);
    EXPECT_LE(plan->workspace_bytes(), options.workspace_cap);
    const Verdict verdict = Verification(problem, {}).check(variant(id), *plan, device, *queue);
    EXPECT_TRUE(verdict.passed()) << verdict.note;
    EXPECT_EQ(verdict.accuracy.integers_exact, true);
  }

  // In all three passes.
  void expect_right(std::string_view id, const char* line, Layout layout,
                    const EmulatorOptions& order = kRandom) {
    ConvProblem problem = parse_problem(line);
    problem.layout = layout;
    for (Pass pass : kPasses) {
      problem.pass = pass;
      expect_right(id, problem, order);
    }
  }

  Support supports(std::string_view id, const char* line) const {
    DeviceInfo gpu;
    gpu.kind = DeviceKind::cuda;
    return variant(id).supports(parse_problem(line), gpu);
  }

  Registry registry_;
};

// Odd sizes, more than one tile of channels, strides, dilation, groups, filters of one row, padding beyond
// the filter.
constexpr const char* kShapes[] = {
    "n=2 c=3 hw=9x11 k=5 rs=3x3 pad=1x1",
    "n=1 c=9 hw=13x13 k=70 rs=3x3 pad=1x1",
    "n=3 c=2 hw=10x7 k=4 rs=3x2 stride=2x3 pad=1x0",
    "n=1 c=6 hw=12x11 k=9 rs=3x3 pad=2x2 dilation=2x2 groups=3",
    "n=2 c=4 hw=7x15 k=8 rs=1x7 stride=1x2 pad=0x3",
    "n=2 c=5 hw=6x6 k=3 rs=1x1 stride=2x2",
    "n=1 c=3 hw=23x23 k=8 rs=11x11 stride=4x4 pad=2x2",
    "n=1 c=2 hw=8x9 k=3 rs=2x3 stride=3x2 pad=3x4 dilation=3x2",
};

TEST_F(DirectCuda, TiledIsRightOnEveryShapePassAndLayout) {
  for (const char* line : kShapes)
    for (Layout layout : {Layout::nchw, Layout::nhwc}) expect_right("direct.tiled.cuda", line, layout);
}

// A block for every written pixel makes this kernel slow on the emulator: smaller images.
TEST_F(DirectCuda, ChwnIsRightOnEveryPass) {
  for (const char* line :
       {"n=2 c=3 hw=5x4 k=5 rs=3x3 pad=1x1", "n=1 c=9 hw=3x3 k=70 rs=3x3 pad=1x1",
        "n=3 c=2 hw=6x5 k=4 rs=3x2 stride=2x3 pad=1x0",
        "n=1 c=6 hw=6x5 k=9 rs=3x3 pad=2x2 dilation=2x2 groups=3", "n=2 c=2 hw=5x5 k=3 rs=1x1 stride=2x2",
        "n=1 c=2 hw=5x6 k=3 rs=2x3 stride=3x2 pad=3x4 dilation=3x2",
        // Fours of images; taps that end within a slab, and that begin and end past the edge.
        "n=4 c=11 hw=4x3 k=5 rs=3x3 pad=1x1", "n=8 c=1 hw=4x4 k=3 rs=5x5 pad=2x2"})
    expect_right("direct.chwn.cuda", line, Layout::chwn);
}

TEST_F(DirectCuda, ChwnTakesMoreImagesThanOneBlock) {
  for (const char* line : {"n=131 c=2 hw=3x2 k=3 rs=3x3 pad=1x1", "n=132 c=2 hw=3x2 k=3 rs=3x3 pad=1x1"})
    expect_right("direct.chwn.cuda", line, Layout::chwn);
}

TEST_F(DirectCuda, DepthwiseIsRightWithAndWithoutAMultiplier) {
  for (const char* line :
       {"n=2 c=5 hw=9x11 k=5 rs=3x3 pad=1x1 groups=5", "n=1 c=37 hw=8x5 k=37 rs=5x5 pad=2x2 groups=37",
        "n=2 c=3 hw=10x7 k=6 rs=3x2 stride=2x3 pad=1x0 groups=3",
        "n=1 c=4 hw=9x8 k=12 rs=3x3 pad=2x2 dilation=2x2 groups=4"})
    for (Layout layout : {Layout::nchw, Layout::nhwc}) expect_right("direct.depthwise.cuda", line, layout);
}

// Channels of several groups and tiles, and a tile that they do not fill.
TEST_F(DirectCuda, ForwardAppliesEveryEpilogue) {
  for (Epilogue epilogue : {Epilogue::relu, Epilogue::bias, Epilogue::bias_relu}) {
    const auto finishes = [&](std::string_view id, const char* line) {
      ConvProblem problem = parse_problem(line);
      problem.epilogue = epilogue;
      expect_right(id, problem);
    };
    for (const char* line :
         {"nchw n=2 c=3 hw=7x9 k=67 rs=3x3 pad=1x1", "nhwc n=2 c=3 hw=7x9 k=67 rs=3x3 pad=1x1",
          "nchw n=1 c=6 hw=8x7 k=9 rs=3x3 stride=2x1 groups=3",
          "nhwc n=1 c=6 hw=8x7 k=9 rs=3x3 stride=2x1 groups=3"})
      finishes("direct.tiled.cuda", line);
    for (const char* line :
         {"chwn n=3 c=3 hw=3x4 k=67 rs=3x3 pad=1x1", "chwn n=4 c=3 hw=3x4 k=67 rs=2x3",
          "chwn n=5 c=6 hw=3x3 k=9 rs=2x2 groups=3", "chwn n=8 c=6 hw=3x3 k=9 rs=2x2 groups=3"})
      finishes("direct.chwn.cuda", line);
    for (const char* line :
         {"nchw n=2 c=3 hw=8x7 k=6 rs=3x2 stride=2x1 groups=3", "nhwc n=2 c=5 hw=7x9 k=5 rs=3x3 groups=5"})
      finishes("direct.depthwise.cuda", line);
  }
}

TEST_F(DirectCuda, EveryOrderOfThreadsIsRight) {
  for (const EmulatorOptions& order : {kForward, kReverse, kRandom}) {
    for (Layout layout : {Layout::nchw, Layout::nhwc}) {
      expect_right("direct.tiled.cuda", kShapes[2], layout, order);
      expect_right("direct.depthwise.cuda", "n=1 c=5 hw=9x7 k=5 rs=3x3 pad=1x1 groups=5", layout, order);
    }
    for (const char* line :
         {"n=2 c=2 hw=4x3 k=4 rs=3x2 stride=2x2 pad=1x0", "n=4 c=9 hw=4x3 k=4 rs=3x2 stride=2x2 pad=1x0"})
      expect_right("direct.chwn.cuda", line, Layout::chwn, order);
  }
}

TEST_F(DirectCuda, TheFilterGradientIsSlicedAsFarAsTheCapAllows) {
  const ConvProblem problem = parse_problem("backward_filter n=3 c=2 hw=20x20 k=4 rs=3x3 pad=1x1");
  EXPECT_GT(direct::gradient_slices(problem, INT64_MAX), 1);
  EXPECT_EQ(direct::gradient_slices(problem, problem.bytes(Role::filter)), 1);
  expect_right("direct.tiled.cuda", problem);
  expect_right("direct.tiled.cuda", problem, kRandom, {.workspace_cap = 2 * problem.bytes(Role::filter)});
  expect_right("direct.tiled.cuda", problem, kRandom, {.workspace_cap = 0});
}

TEST_F(DirectCuda, RefusesWithTheReason) {
  EXPECT_EQ(supports("direct.tiled.cuda", "tf32 n=1 c=3 hw=9 k=4 rs=3x3").reason(), Reason::unsupported_math);
  EXPECT_EQ(supports("direct.tiled.cuda", "chwn n=1 c=3 hw=9 k=4 rs=3x3").reason(),
            Reason::unsupported_layout);
  EXPECT_EQ(supports("direct.chwn.cuda", "nchw n=1 c=3 hw=9 k=4 rs=3x3").reason(),
            Reason::unsupported_layout);
  EXPECT_THAT(supports("direct.depthwise.cuda", "n=1 c=6 hw=9 k=4 rs=3x3 groups=2").why(),
              HasSubstr("3 input channels per group"));
  EXPECT_THAT(supports("direct.tiled.cuda", "n=1 c=3 hw=64x64 k=4 rs=40x40").why(), HasSubstr("96 KiB"));
  EXPECT_EQ(supports("direct.tiled.cuda", "n=1048576 c=3 hw=64x64 k=4 rs=3x3").reason(),
            Reason::unsupported_size);
  EXPECT_TRUE(supports("direct.chwn.cuda", "chwn n=8388480 c=1 hw=1x1 k=1 rs=1x1"));  // 65535 blocks
  EXPECT_EQ(supports("direct.chwn.cuda", "chwn n=8388481 c=1 hw=1x1 k=1 rs=1x1").reason(),
            Reason::unsupported_size);
  EXPECT_THAT(
      supports("direct.chwn.cuda", "chwn n=1 c=1 hw=9x9 k=1 rs=3x3 stride=2147483648x1 pad=2147483648x1")
          .why(),
      HasSubstr("reach coordinate"));
}

TEST_F(DirectCuda, RefusesAPatchWhoseBytesAreMoreThan64BitsCount) {
  const char* line = "n=1 c=8 hw=4x4 k=1 rs=65x65 pad=268435456x268435456 dilation=8388608x8388608";
  EXPECT_THAT(supports("direct.tiled.cuda", line).why(), HasSubstr("96 KiB"));
}

TEST_F(DirectCuda, TakesEveryStrideOfFewResiduesAndRefusesThousandsOfLaunches) {
  EXPECT_TRUE(
      supports("direct.chwn.cuda", "backward_data chwn n=1 c=1 hw=9x9 k=1 rs=3x3 stride=65536x65536"));
  const Support refusal =
      supports("direct.chwn.cuda", "backward_data chwn n=1 c=1 hw=65x65 k=1 rs=1x1 stride=65x65");
  EXPECT_EQ(refusal.reason(), Reason::unsupported_stride);
  EXPECT_THAT(refusal.why(), HasSubstr("4225 residues"));
}

TEST(TiledShape, CoversEveryPixelWithinSharedMemory) {
  for (const char* line : kShapes) {
    const ConvProblem problem = parse_problem(line);
    for (bool forward : {true, false})
      for (const direct::AxisResidue& y : direct::axis_residues(direct::vertical(problem), forward))
        for (const direct::AxisResidue& x : direct::axis_residues(direct::horizontal(problem), forward)) {
          const direct::TiledShape shape = direct::tiled_shape(y, x, 8);
          EXPECT_GE(shape.tile_h, 1);
          EXPECT_LE(shape.tile_h * shape.tile_w, direct::TiledTile::kPixels);
          EXPECT_LE(shape.smem_bytes, direct::kMaxSharedBytes);
          EXPECT_EQ(shape.plane % 2, 1);
        }
  }
}

}  // namespace
}  // namespace convscope
