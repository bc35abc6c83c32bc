// The variants of this folder on the emulator, whose tensor cores err as the hardware's do
// (docs/emulator.md), at the depths of known networks, with few pixels, filters and channels otherwise.
// Workspace cap 0, so that no depth is split: the longest sums there are. The errors are well below their
// gates. What takes longer than CI has is in the disabled tests: --gtest_also_run_disabled_tests.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/implicit_gemm/implicit_gemm.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::implicit_gemm {
namespace {

constexpr const char *kSimt = "implicit_gemm.simt.cuda", *kTensor = "implicit_gemm.tensor.cuda",
                     *kHopper = "implicit_gemm.hopper.cuda";

class Depth : public ::testing::Test {
 protected:
  Depth() : queue_(device_.make_queue()) { add_implicit_gemm(registry_); }

  double error(const char* id, const ConvProblem& problem) {
    const Algorithm& variant = *registry_.find(id);
    EXPECT_TRUE(variant.supports(problem, device_.info())) << to_line(problem);
    const std::unique_ptr<Plan> plan = variant.plan(problem, device_, {.workspace_cap = 0});
    const Verdict verdict = Verification(problem, {}).check_again(variant, *plan, device_, *queue_);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
    return verdict.accuracy.relative_l2.value_or(HUGE_VAL);
  }

  void expect_below(double bound, const char* id, const std::vector<ConvProblem>& problems) {
    for (const ConvProblem& problem : problems)
      EXPECT_LT(error(id, problem), bound) << id << " " << to_line(problem);
  }

  EmulatorDevice device_;
  std::unique_ptr<Queue> queue_;
  Registry registry_;
};

// What is summed over in forward and backward-data: C and R x S, with the stride and padding of the layer.
struct Layer {
  const char* network;
  int channels;
  const char* filter;
};
// Each depth once: of AlexNet 363, 2400, 2304, 3456; of VGG-16 27 to 4608; of ResNet-50 147, 64 to 4608.
constexpr Layer kLayers[] = {
    {"AlexNet conv1", 3, "hw=19x15 rs=11x11 stride=4x4"},
    {"AlexNet conv2", 96, "hw=4x5 rs=5x5 pad=2x2"},
    {"AlexNet conv4", 384, "hw=4x5 rs=3x3 pad=1x1"},
    {"VGG-16 conv1_1", 3, "hw=4x5 rs=3x3 pad=1x1"},
    {"VGG-16 conv2_1", 64, "hw=4x5 rs=3x3 pad=1x1"},
    {"VGG-16 conv3_1", 128, "hw=4x5 rs=3x3 pad=1x1"},
    {"VGG-16 conv4_1", 256, "hw=4x5 rs=3x3 pad=1x1"},
    {"VGG-16 conv4_2", 512, "hw=4x5 rs=3x3 pad=1x1"},
    {"ResNet-50 conv1", 3, "hw=9x9 rs=7x7 stride=2x2 pad=3x3"},
    {"ResNet-50 1x1", 64, "hw=4x5 rs=1x1"},
    {"ResNet-50 1x1", 256, "hw=4x5 rs=1x1"},
    {"ResNet-50 1x1", 512, "hw=4x5 rs=1x1"},
    {"ResNet-50 1x1", 1024, "hw=4x5 rs=1x1"},
    {"ResNet-50 1x1", 2048, "hw=4x5 rs=1x1"},
    {"ResNet-50 strided", 512, "hw=6x7 rs=3x3 stride=2x2 pad=1x1"},
};

// Those that are not deep alone under a sanitizer, which does not look for rounding.
std::vector<ConvProblem> layers(const char* math, const char* layout, Pass pass) {
  std::vector<ConvProblem> all;
  for (const Layer& layer : kLayers) {
    if (kSanitized && layer.channels > 64) continue;
    const std::string deep = std::to_string(layer.channels);
    const std::string channels =
        pass == Pass::forward ? " n=1 c=" + deep + " k=8 " : " n=1 c=8 k=" + deep + " ";
    ConvProblem problem = parse_problem(std::string(math) + " " + layout + channels + layer.filter);
    problem.pass = pass;
    all.push_back(problem);
  }
  return all;
}

TEST_F(Depth, Fp32ErrsLittleAtTheDepthsOfNetworks) {
  expect_below(2e-6, kSimt, layers("fp32", "nchw", Pass::forward));
  expect_below(2e-6, kSimt, layers("fp32", "nchw", Pass::backward_data));
}

TEST_F(Depth, ThreeTimesTf32ErrsLikeFp32AtTheDepthsOfNetworks) {
  expect_below(1e-6, kTensor, layers("3xtf32", "nchw", Pass::forward));
  expect_below(1e-6, kTensor, layers("3xtf32", "nhwc", Pass::backward_data));
}

TEST_F(Depth, Tf32ErrsByLessThanHalfItsGateAtTheDepthsOfNetworks) {
  for (const char* variant : {kTensor, kHopper}) {
    expect_below(5e-4, variant, layers("tf32", "nhwc", Pass::forward));
    expect_below(5e-4, variant, layers("tf32", "nchw", Pass::backward_data));
  }
}

TEST_F(Depth, Fp16ErrsByLessThanHalfItsGateAtTheDepthsOfNetworks) {
  for (const char* variant : {kTensor, kHopper}) {
    expect_below(5e-4, variant, layers("fp16", "nhwc", Pass::forward));
    expect_below(5e-4, variant, layers("fp16", "nchw", Pass::backward_data));
  }
}

TEST_F(Depth, Bf16ErrsByLessThanHalfItsGateAtTheDepthsOfNetworks) {
  for (const char* variant : {kTensor, kHopper}) {
    expect_below(4e-3, variant, layers("bf16", "nhwc", Pass::forward));
    expect_below(4e-3, variant, layers("bf16", "nchw", Pass::backward_data));
  }
}

// Backward-filter sums over all pixels of all images: so many of them, in few channels.
ConvProblem filter(const char* math, const char* layout, int images, const char* size) {
  return parse_problem(std::string("backward_filter ") + math + " " + layout +
                       " n=" + std::to_string(images) + " c=4 k=8 rs=1x1 " + size);
}

// In one piece these sums err by 6.7e-6 in fp32, 5.9e-4 in tf32, 4.2e-4 in fp16 widened to it, all 131,072
// deep, and on wgmma, 786,432 deep, by 1.0e-3.
TEST_F(Depth, LongSumsOfAFilterAreAddedInPieces) {
  // To a sanitizer a piece or two are enough.
  const char* const size = kSanitized ? "hw=64x160" : "hw=256x256";
  expect_below(4e-6, kSimt, {filter("fp32", "nchw", 2, size)});
  expect_below(4e-6, kTensor, {filter("3xtf32", "nhwc", 2, size)});
  expect_below(3.5e-4, kTensor, {filter("tf32", "nchw", 2, size)});
  expect_below(3e-4, kTensor, {filter("fp16", "nhwc", 2, size)});
  expect_below(3e-4, kHopper, {filter("fp16", "nhwc", kSanitized ? 2 : 12, size)});
}

TEST_F(Depth, Bf16ErrsByLessThanHalfItsGateInTheSumsOfAFilter) {
  for (const char* row : {kTensor, kHopper})
    expect_below(4e-3, row, {filter("bf16", "nhwc", 2, "hw=64x160")});
}

// Takes minutes: conv1 of AlexNet and of ResNet-50 at batch 256, of VGG-16 at 64.
TEST_F(Depth, DISABLED_LongSumsOfAFilterErrLittleAtTheBatchOfNetworks) {
  for (const auto& [images, size] : {std::pair{256, "hw=55x55"}, {256, "hw=112x112"}, {64, "hw=224x224"}}) {
    expect_below(1.4e-5, kSimt, {filter("fp32", "nchw", images, size)});
    expect_below(1.4e-5, kTensor, {filter("3xtf32", "nhwc", images, size)});
    expect_below(5e-4, kTensor, {filter("tf32", "nchw", images, size)});
    for (const char* variant : {kTensor, kHopper}) {
      expect_below(5e-4, variant, {filter("fp16", "nhwc", images, size)});
      expect_below(4e-3, variant, {filter("bf16", "nhwc", images, size)});
    }
  }
}

}  // namespace
}  // namespace convscope::implicit_gemm
