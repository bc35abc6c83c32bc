// What the Hopper variant plans: what is repacked, how pixels are cut, how the depth is split, what is
// counted.
#include <gtest/gtest.h>

#include "algorithms/implicit_gemm/cuda/hopper_plan.hpp"
#include "algorithms/implicit_gemm/implicit_gemm.hpp"
#include "bench/emulator/emulator_device.hpp"

namespace convscope::implicit_gemm {
namespace {

TEST(HopperWork, RepacksOnlyWhatTmaCannotReadAsItLies) {
  const auto work = [](const char* line) { return hopper_work(parse_problem(line)); };
  const HopperWork aligned = work("forward bf16 nhwc n=2 c=24 hw=9x9 k=5 rs=3x3");
  EXPECT_FALSE(aligned.image);
  EXPECT_FALSE(aligned.filter);
  const HopperWork backward = work("backward_data bf16 nhwc n=2 c=5 hw=9x9 k=24 rs=3x3");
  EXPECT_FALSE(backward.image);
  EXPECT_TRUE(backward.filter);
  EXPECT_FALSE(work("forward tf32 nhwc n=2 c=12 hw=9x9 k=5 rs=3x3").image);
  EXPECT_TRUE(work("forward bf16 nhwc n=2 c=12 hw=9x9 k=5 rs=3x3").image);
  EXPECT_TRUE(work("forward bf16 nchw n=2 c=24 hw=9x9 k=5 rs=3x3").image);
}

TEST(HopperWork, RepacksForTheFilterOnlyWhatTmaCannotReadAsItLies) {
  const auto work = [](const char* line) { return gradient_work(parse_problem(line), INT64_MAX); };
  const GradientWork aligned = work("backward_filter bf16 nhwc n=2 c=24 hw=9x9 k=8 rs=3x3");
  EXPECT_FALSE(aligned.input || aligned.output);
  const GradientWork first = work("backward_filter bf16 nhwc n=2 c=3 hw=9x9 k=8 rs=3x3");
  EXPECT_TRUE(first.input && !first.output);
  const GradientWork repacked = work("backward_filter fp16 nchw n=2 c=24 hw=9x9 k=8 rs=3x3");
  EXPECT_TRUE(repacked.input && repacked.output);
}

// 9 x 12 tiles of 128 x 128 and 43264 pixels: enough depth to give all multiprocessors a part.
TEST(HopperWork, SplitsTheDepthOfAFilterAsFarAsTheWorkspaceReaches) {
  const ConvProblem problem =
      parse_problem("backward_filter bf16 nhwc n=256 c=256 hw=13x13 k=128 rs=3x3 pad=1x1");
  const BoxedGradient free = gradient_work(problem, INT64_MAX).product;
  EXPECT_GT(free.splits, 4);
  EXPECT_GE(tiles(free) * free.splits, 120);
  const int64_t cap = partial_bytes(free) / 2;
  const BoxedGradient capped = gradient_work(problem, cap).product;
  EXPECT_GT(capped.splits, 1);
  EXPECT_LE(partial_bytes(capped), cap);
  EXPECT_EQ(gradient_work(problem, 0).product.splits, 1);
  ConvProblem nchw = problem;
  nchw.layout = Layout::nchw;
  const GradientWork repacked = gradient_work(nchw, 0);
  const HopperFilterPlan plan(nchw, repacked, DeviceKind::emulator);
  EXPECT_EQ(plan.workspace_bytes(), nchw.bytes(Role::input) + nchw.bytes(Role::output));
}

TEST(HopperWork, TakesRunsOfPixelsForAFilterWhereTheyReach) {
  const auto run = [](const char* line) { return gradient_work(parse_problem(line), INT64_MAX).product.run; };
  EXPECT_EQ(run("backward_filter bf16 nhwc n=256 c=3 hw=227x227 k=96 rs=11x11 stride=4x4"), kStagePixels)
      << "joined taps";
  EXPECT_EQ(run("backward_filter bf16 nhwc n=256 c=96 hw=27x27 k=256 rs=5x5 pad=2x2"), kStagePixels);
  EXPECT_EQ(run("backward_filter bf16 nhwc n=2 c=8 hw=400x400 k=64 rs=3x3 dilation=150x150"), 0)
      << "offsets beyond 255 pixels";
  EXPECT_EQ(run("backward_filter bf16 nhwc n=256 c=256 hw=13x13 k=384 rs=3x3 pad=1x1"), kStagePixels);
}

TEST(HopperWork, LeavesNoPartOfASplitDepthEmpty) {
  BoxedGradient product =
      gradient_work(parse_problem("backward_filter bf16 nhwc n=10 c=8 hw=8x8 k=8 rs=1x1"), 0).product;
  ASSERT_EQ(product.all_loads, 10);
  set_splits(product, 6);
  EXPECT_EQ(product.loads_of_split, 2);
  EXPECT_EQ(product.splits, 5);
}

// 43,264 pixels are 169 times 256.
TEST(HopperWork, RunsLeaveNoRowOfATileEmptyButInTheLast) {
  HopperWork work = hopper_work(parse_problem("bf16 nhwc n=256 c=256 hw=13x13 k=384 rs=3x3 pad=1x1"));
  for (const HopperTile& tile : kHopperTiles) {
    set_tile(work.products[0], tile);
    EXPECT_EQ(work.products[0].run, tile.rows);
    EXPECT_EQ(loads(work.products[0]), 256 * 13 * 13 / tile.rows);
  }
}

HopperTile tile_of(const char* line) {
  return hopper_work(parse_problem(line)).products.front().tile;
}

// Of the cycles that its products take, 1024 for 256x128, a stage takes as many more, 1152, in shared memory.
TEST(HopperWork, TilesReachTheShareOfThePeakThatSharedMemoryAllows) {
  EXPECT_DOUBLE_EQ((HopperTile{256, 128}.efficiency()), 1024.0 / 1152);
  EXPECT_DOUBLE_EQ((HopperTile{128, 128}.efficiency()), 512.0 / 640);
  EXPECT_DOUBLE_EQ((HopperTile{128, 64}.efficiency()), 256.0 / 448);
  EXPECT_DOUBLE_EQ((HopperTile{256, 96}.efficiency()), 768.0 / 992);
  EXPECT_DOUBLE_EQ((HopperTile{128, 96}.efficiency()), 384.0 / 544);
  EXPECT_DOUBLE_EQ((HopperTile{128, 192}.efficiency()), 768.0 / 832);
  EXPECT_DOUBLE_EQ((HopperTile{256, 256}.efficiency()), 1);
}

// AlexNet, batch 256: in 23 and in 6 rounds of multiprocessors as with 128 columns, each 0.86 times as long.
TEST(HopperWork, Takes96ColumnsForConv1ForwardAndConv2BackwardDataOfAlexNet) {
  EXPECT_EQ(tile_of("bf16 nhwc n=256 c=3 hw=227x227 k=96 rs=11x11 stride=4x4"), (HopperTile{256, 96}));
  EXPECT_EQ(tile_of("backward_data bf16 nhwc n=256 c=96 hw=27x27 k=256 rs=5x5 pad=2x2"),
            (HopperTile{256, 96}));
  EXPECT_EQ(tile_of("tf32 nhwc n=256 c=3 hw=227x227 k=96 rs=11x11 stride=4x4"), (HopperTile{256, 96}));
}

TEST(HopperWork, Takes128ColumnsForTheOtherLayersOfAlexNet) {
  for (const char* line : {"bf16 nhwc n=256 c=96 hw=27x27 k=256 rs=5x5 pad=2x2",
                           "bf16 nhwc n=256 c=256 hw=13x13 k=384 rs=3x3 pad=1x1",
                           "bf16 nhwc n=256 c=384 hw=13x13 k=384 rs=3x3 pad=1x1",
                           "bf16 nhwc n=256 c=384 hw=13x13 k=256 rs=3x3 pad=1x1",
                           "backward_data bf16 nhwc n=256 c=256 hw=13x13 k=384 rs=3x3 pad=1x1",
                           "backward_data bf16 nhwc n=256 c=384 hw=13x13 k=384 rs=3x3 pad=1x1",
                           "backward_data bf16 nhwc n=256 c=384 hw=13x13 k=256 rs=3x3 pad=1x1"})
    EXPECT_EQ(tile_of(line), (HopperTile{256, 128})) << line;
}

// As a filter of 192 in AlexNet of one weird trick, twice 96; VGG-16's and ResNet-50's first layers.
TEST(HopperWork, TakesTheTileWhoseRoundsAreShortestByColumns) {
  EXPECT_EQ(tile_of("bf16 nhwc n=128 c=64 hw=27x27 k=192 rs=5x5 pad=2x2"), (HopperTile{128, 192}));
  EXPECT_EQ(tile_of("bf16 nhwc n=64 c=64 hw=224x224 k=64 rs=3x3 pad=1x1"), (HopperTile{128, 64}));
  EXPECT_EQ(tile_of("bf16 nhwc n=50 c=3 hw=224x224 k=64 rs=7x7 stride=2x2 pad=3x3"), (HopperTile{128, 64}));
  EXPECT_EQ(tile_of("bf16 nhwc n=64 c=64 hw=112x112 k=128 rs=3x3 pad=1x1"), (HopperTile{256, 128}));
  // 16,900 pixels are 132 tiles of 128 rows and a rest, 67 of 256.
  EXPECT_EQ(tile_of("bf16 nhwc n=1 c=64 hw=130x130 k=80 rs=1x1"), (HopperTile{256, 96}));
  EXPECT_EQ(tile_of("bf16 nhwc n=1 c=64 hw=129x130 k=80 rs=1x1"), (HopperTile{128, 96}));
}

// A row of pixels whose first is at first_x in an image as wide, and a second tap to the right of it.
PixelBoxes row_of_pixels(int first_x, int width, int image_width, int tap_x) {
  PixelBoxes pixels;
  pixels.images = pixels.height = pixels.image_height = pixels.taps_down = 1;
  pixels.width = width;
  pixels.image_width = image_width;
  pixels.taps_across = 2;
  pixels.first_x = first_x;
  pixels.tap_x = tap_x;
  return pixels;
}

TEST(HopperWork, RunsReachAsFarAsTheirCornersAndOffsetsDo) {
  const auto reach = [](const PixelBoxes& pixels) { return runs_reach(pixels, 1, 8, 2); };
  EXPECT_TRUE(reach(row_of_pixels(-128, 9, 9, 1)));
  EXPECT_FALSE(reach(row_of_pixels(-129, 9, 9, 1)));
  EXPECT_TRUE(reach(row_of_pixels(0, 136, 9, 1)));  // upper corner 127
  EXPECT_FALSE(reach(row_of_pixels(0, 137, 9, 1)));
  EXPECT_TRUE(reach(row_of_pixels(0, 9, 9, 255)));
  EXPECT_FALSE(reach(row_of_pixels(0, 9, 9, 256)));
  EXPECT_TRUE(reach(row_of_pixels(0, 9, 9, -128)));
  EXPECT_FALSE(reach(row_of_pixels(0, 9, 9, -129)));
}

TEST(HopperWork, BoxesAreForGroupsThatShareALineOfChannels) {
  const auto run = [](const char* line) { return hopper_work(parse_problem(line)).products[0].run; };
  EXPECT_EQ(run("bf16 nhwc n=9 c=48 hw=13x13 k=48 rs=3x3 pad=1x1 groups=2"), 0);
  EXPECT_GT(run("bf16 nhwc n=9 c=128 hw=13x13 k=48 rs=3x3 pad=1x1 groups=2"), 0);
  EXPECT_GT(run("tf32 nhwc n=9 c=64 hw=13x13 k=48 rs=3x3 pad=1x1 groups=2"), 0);
}

// 13 x 13 pixels: no row of the output is cut, and images fill the tile.
TEST(HopperWork, BoxesFillTheTile) {
  HopperWork work = hopper_work(parse_problem("bf16 nhwc n=256 c=256 hw=13x13 k=384 rs=3x3 pad=1x1"));
  BoxedProduct& product = work.products[0];
  for (const HopperTile& tile : kHopperTiles) {
    cut(product, false, tile.rows, tile.rows);
    EXPECT_LE(product.box.pixels(), tile.rows);
    const double rows = static_cast<double>(loads(product)) * tile.rows;
    EXPECT_GE(256 * 13 * 13, 0.85 * rows);
  }
  work = hopper_work(parse_problem("bf16 nhwc n=1 c=8 hw=2000x2000 k=8 rs=1x1 stride=8x8"));
  cut(work.products[0], false, 256, 256);
  const Box box = work.products[0].box;
  EXPECT_LE(box.width * 8, kTmaLongestBox);
  EXPECT_LE(box.height * 8, kTmaLongestBox);
}

OperationCount counted(const ConvProblem& problem) {
  Registry registry;
  add_implicit_gemm(registry);
  EmulatorDevice device;
  return registry.find("implicit_gemm.hopper.cuda")->plan(problem, device, {})->operations().value();
}

// Without padding to tiles the count is the nominal one.
TEST(HopperWork, CountsTheOperationsOfWholeTiles) {
  const ConvProblem whole = parse_problem("bf16 nhwc n=8 c=32 hw=16x16 k=128 rs=1x1");
  EXPECT_EQ(counted(whole).product_flops, whole.nominal_flops());
  const ConvProblem odd = parse_problem("bf16 nhwc n=8 c=17 hw=16x16 k=128 rs=1x1");
  EXPECT_EQ(counted(odd).product_flops, whole.nominal_flops());
  EXPECT_GT(counted(odd).bytes, static_cast<double>(odd.total_bytes()));
  ConvProblem filter = parse_problem("backward_filter bf16 nhwc n=8 c=64 hw=16x16 k=128 rs=1x1");
  EXPECT_EQ(counted(filter).product_flops, filter.nominal_flops());
  filter.in_channels = 17;
  EXPECT_GT(counted(filter).product_flops, filter.nominal_flops());
}

}  // namespace
}  // namespace convscope::implicit_gemm
