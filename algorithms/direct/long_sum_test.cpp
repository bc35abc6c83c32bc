// Filter gradients of thin problems with the pixels of real ones: an error far below the gate, which one
// running sum over all pixels of a batch does not have.
#include <gtest/gtest.h>

#include <utility>

#include "algorithms/common/sum_error_test.hpp"
#include "algorithms/direct/direct.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"

namespace convscope {
namespace {

class DirectLongSum : public ::testing::Test {
 protected:
  DirectLongSum() { add_direct(registry_); }
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "of rounding alone; the code runs on small problems in the other tests";
  }

  // On one thread, as threads share the pixels out, without a cap on the workspace and with the smallest.
  void expect_small_error(const char* line, const char* kind) {
    const ConvProblem problem = parse_problem(line);
    const Algorithm& row = *registry_.find("direct.cpu");
    for (const int64_t cap : {INT64_MAX, int64_t{0}}) {
      SCOPED_TRACE(std::string(line) + ", cap " + std::to_string(cap));
      const PlanOptions options{.workspace_cap = cap, .threads = 1};
      EXPECT_NE(row.plan(problem, cpu_, options)->implementation().find(kind), std::string::npos);
      const double error = sum_error(row, problem, cpu_, options);
      EXPECT_LT(error, kErrorAllowed);
      expect_error_of_sum(row, problem, cpu_, options, error);
    }
  }

  Registry registry_;
  CpuDevice cpu_;
};

// The pixels of VGG-16's first layer with a batch of 32.
TEST_F(DirectLongSum, OutputChannelsInLanesKeepTheGateOverAllPixelsOfABatch) {
  expect_small_error("backward_filter n=32 c=1 hw=224x224 k=12 rs=3x3 pad=1x1", "output channels in lanes");
  expect_small_error("backward_filter nhwc n=32 c=1 hw=224x224 k=12 rs=3x3 pad=1x1",
                     "output channels in lanes");
  expect_small_error("backward_filter n=32 c=2 hw=224x224 k=12 rs=1x1", "output channels in lanes");
}

TEST_F(DirectLongSum, ColumnsInLanesKeepTheGateOverAllPixelsOfABatch) {
  expect_small_error("backward_filter n=64 c=2 hw=224x224 k=1 rs=3x3 pad=1x1", ", columns in lanes");
}

// MobileNet's first depthwise layer, eight of its channels.
TEST_F(DirectLongSum, DepthwiseGradientsKeepTheGateOverAllPixelsOfABatch) {
  expect_small_error("backward_filter nhwc n=128 c=8 hw=112x112 k=8 rs=3x3 pad=1x1 groups=8",
                     "depthwise, channels in lanes");
  expect_small_error("backward_filter n=128 c=8 hw=112x112 k=8 rs=3x3 pad=1x1 groups=8",
                     "depthwise, columns in lanes");
}

// Two images have the 16,384 pixels of a sum. The rest, a third one alone, is a sum that is added as well.
TEST_F(DirectLongSum, CountsTheSumOfTheLastFewPixelsOfADepthwiseGradient) {
  const auto longest = [&](const char* line) {
    return registry_.find("direct.cpu")->plan(parse_problem(line), cpu_, {})->longest_sum();
  };
  EXPECT_EQ(longest("backward_filter n=3 c=16 hw=128x64 k=16 rs=3x3 pad=1x1 groups=16"),
            longest("backward_filter n=4 c=16 hw=128x64 k=16 rs=3x3 pad=1x1 groups=16"));
}

// Without workspace for slices: one running sum over these pixels, eight images of VGG-16's first layer, has
// an error of 1e-5.
TEST_F(DirectLongSum, GradientsOnTheEmulatorKeepTheGateWithoutSlices) {
  EmulatorDevice emulator(EmulatorOptions{.order = EmulatorOrder::forward});
  for (const auto& [id, line] :
       {std::pair{"direct.tiled.cuda", "backward_filter n=8 c=1 hw=224x224 k=4 rs=3x3 pad=1x1"},
        std::pair{"direct.tiled.cuda", "backward_filter nhwc n=8 c=1 hw=224x224 k=4 rs=3x3 pad=1x1"},
        std::pair{"direct.chwn.cuda", "backward_filter chwn n=32 c=1 hw=112x112 k=4 rs=3x3 pad=1x1"},
        std::pair{"direct.depthwise.cuda",
                  "backward_filter nhwc n=128 c=4 hw=112x112 k=4 rs=3x3 pad=1x1 groups=4"}}) {
    SCOPED_TRACE(line);
    const ConvProblem problem = parse_problem(line);
    const Algorithm& row = *registry_.find(id);
    const PlanOptions options{.workspace_cap = 0};
    const double error = sum_error(row, problem, emulator, options);
    EXPECT_LT(error, kErrorAllowed);
    expect_error_of_sum(row, problem, emulator, options, error);
  }
}

}  // namespace
}  // namespace convscope
