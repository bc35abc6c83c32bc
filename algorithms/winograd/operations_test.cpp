// The counts of the CPU plans: of products, transforms and planes, by schedule; in counting builds, those of
// schedules that take large problems against the tally of the kernels (algorithms/counts_test.cpp has the
// small ones).
#include <gtest/gtest.h>
#include <omp.h>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/common/tally.hpp"
#include "algorithms/winograd/cpu/plans.hpp"
#include "algorithms/winograd/cpu/vector_kernels.hpp"
#include "algorithms/winograd/winograd.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope::winograd {
namespace {

constexpr TileRule kMixed{.larger_in_1d = true};

DeviceInfo small_cpu() {
  DeviceInfo device;
  device.l2_bytes = int64_t{1} << 20;
  device.llc_bytes = int64_t{32} << 20;
  return device;
}

OperationCount count(const ConvProblem& problem, TileRule tiles, const PlanOptions& options = {}) {
  return make_plan(make_geometry(problem, tiles), small_cpu(), options)->operations().value();
}

TEST(WinogradOperations, CountsTheMultipliesOfItsTiles) {
  const ConvProblem conv3 = parse_problem("forward fp32 nchw n=2 c=5 hw=13x13 k=7 rs=3x3 pad=1x1");
  const double pairs = 2.0 * 2 * 5 * static_cast<double>(round_up(7, gemm_shape().columns_per_panel));
  EXPECT_EQ(count(conv3, kMixed).product_flops, pairs * 19 * 19);
  EXPECT_EQ(count(conv3, {4}).product_flops, pairs * 24 * 24);
  EXPECT_GT(count(conv3, kMixed).transform_flops, 0);
  // 55 = 5 tiles of 6 and 5 of 5; each residue of 3 taps has 75 points a dimension, the one of 2 taps 65.
  const ConvProblem conv1 = parse_problem("forward fp32 nchw n=2 c=5 hw=227x227 k=7 rs=11x11 stride=4x4");
  EXPECT_EQ(count(conv1, kMixed).product_flops, pairs * 290 * 290);
}

TEST(WinogradOperations, CountsTheLanesAndColumnsThatItComputesAndDrops) {
  const int64_t panel = gemm_shape().columns_per_panel, lanes = vector_kernels().lanes;
  for (const Pass pass : kPasses) {
    SCOPED_TRACE(name(pass));
    ConvProblem few = parse_problem("forward fp32 nchw n=2 c=3 hw=13x13 k=1 rs=3x3 pad=1x1");
    few.pass = pass;
    ConvProblem whole = few;
    int64_t& columns = pass == Pass::backward_data ? whole.in_channels : whole.out_channels;
    columns = panel;
    EXPECT_EQ(count(few, kMixed).product_flops, count(whole, kMixed).product_flops);
    columns = lanes;
    EXPECT_EQ(count(few, kMixed).transform_flops, count(whole, kMixed).transform_flops);
  }
}

TEST(WinogradOperations, CountsThePlanesThatPassThroughMemoryAndThoseThatStay) {
  for (const Pass pass : kPasses) {
    SCOPED_TRACE(name(pass));
    const auto planes = [&](const std::string& shape) {
      ConvProblem problem = parse_problem("forward fp32 nchw hw=6x6 rs=3x3 pad=1x1 " + shape);
      problem.pass = pass;
      OperationCount counted = count(problem, {6});
      counted.bytes -= static_cast<double>(problem.total_bytes());
      return std::pair(counted.bytes, counted.cached_bytes);
    };
    // 8x8 points, one tile an image; written once and read once.
    const double tiles = 2.0 * 4 * 64 * (128 + 128), filters = 2.0 * 4 * 64 * 128 * 128;
    EXPECT_EQ(planes("n=28 c=128 k=128"), std::pair(28 * tiles, filters))
        << "filters of more than twice the tiles stay in the caches";
    const double small_tiles = 60 * 2.0 * 4 * 64 * (112 + 112), small = 2.0 * 4 * 64 * 112 * 112;
    EXPECT_EQ(planes("n=60 c=112 k=112"), std::pair(0.0, small_tiles + small))
        << "the filters' planes are less than 4 MiB, and blocks stay in the caches";
    const double all = 100 * 2.0 * 4 * 64 * (128 + 192), larger = filters * 192 / 128;
    if (pass == Pass::backward_filter) {
      EXPECT_EQ(planes("n=100 c=128 k=192"), std::pair(all + larger, 0.0));
      continue;
    }
    const double products = 100 * 2.0 * 4 * 64 * (pass == Pass::forward ? 192 : 128);
    EXPECT_EQ(planes("n=100 c=128 k=192"), std::pair(all - products + larger * 3 / 8, larger + products))
        << "columns of three taps become eight points, the rest is made with the products and stays";
  }
}

TEST(WinogradOperations, CountThePlanesOfThePlanThatTheCapLeaves) {
  const ConvProblem problem = parse_problem("forward fp32 nchw n=100 c=128 hw=6x6 k=192 rs=3x3 pad=1x1");
  EXPECT_GT(count(problem, {6}).cached_bytes, 0) << "half-transformed";
  const OperationCount capped = count(problem, {6}, {.workspace_cap = 1});
  EXPECT_EQ(capped.cached_bytes, 0) << "all filters are transformed into memory";
  EXPECT_GT(capped.bytes, count(problem, {6}).bytes);
}

TEST(WinogradOperations, CountTheRowsOfFiltersThatEachBlockTransformsAgain) {
  const ConvProblem problem = parse_problem("forward fp32 nchw n=90 c=165 hw=13x13 k=150 rs=3x3 pad=1x1");
  const Geometry geometry = make_geometry(problem, kMixed);
  const auto half = make_half_transformed_plan(geometry, small_cpu(), {});
  ASSERT_NE(half, nullptr);
  const auto whole = make_pretransformed_plan(geometry, small_cpu(), {});
  EXPECT_EQ(half->operations()->product_flops, whole->operations()->product_flops);
  EXPECT_GT(half->operations()->transform_flops, whole->operations()->transform_flops);
}

#if defined(CONVSCOPE_TALLY)

TEST(WinogradOperations, AreThoseThatTheKernelsOfLargeProblemsTally) {
  CpuDevice device;
  const auto queue = device.make_queue();
  for (const char* shape : {"nchw n=9 c=165 hw=13x13 k=150 rs=3x3 pad=1x1",    // half_transformed
                            "nhwc n=2 c=131 hw=29x31 k=192 rs=3x3 pad=1x1",    // half_transformed
                            "nchw n=1 c=144 hw=7x8 k=175 rs=3x3 pad=1x1",      // filters_on_the_fly
                            "nchw n=4 c=3 hw=31x40 k=3 rs=3x3 pad=1x1",        // slices of each thread's own
                            "nchw n=3 c=40 hw=23x19 k=33 rs=5x5 stride=2x2"})  // residues
    for (const Pass pass : kPasses)
      for (const int threads : {1, 2}) {
        const ConvProblem problem = parse_problem(std::string(name(pass)) + " fp32 " + shape);
        SCOPED_TRACE(to_line(problem) + " threads " + std::to_string(threads));
        const PlanOptions options{.threads = threads};
        const auto plan = make_plan(make_geometry(problem, kMixed), small_cpu(), options);
        Buffer input(device, problem.bytes(Role::input)), filter(device, problem.bytes(Role::filter)),
            output(device, problem.bytes(Role::output)), workspace(device, plan->workspace_bytes());
        const ConvArgs args{input.data(), filter.data(), output.data(), workspace.data()};
        omp_set_num_threads(threads);
        reset_tally();
        plan->prepare(args, *queue);
        plan->run(args, *queue);
        const OperationCount counted = plan->operations().value();
        EXPECT_DOUBLE_EQ(counted.product_flops, tally().product_flops);
        EXPECT_DOUBLE_EQ(counted.transform_flops, tally().transform_flops);
      }
}

#endif

}  // namespace
}  // namespace convscope::winograd
