// Every variant for GPUs of the catalog, on the emulator: right on tiny problems and on layers of known
// networks, in every order of threads, or refused with a reason. One run a problem, so that there is time for
// all kernels, and for the thread sanitizer, to which each thread of a block is a fiber of its own, on the
// tiny ones; the folders' own tests look at all that can go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "algorithms/catalog.hpp"
#include "algorithms/common/problems_test.hpp"
#include "algorithms/common/test_name_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr size_t kEvery = 23;  // prime to the passes, math modes and layouts, so that it meets all of them
constexpr size_t kPassesOfALayer = 0, kSeparateEpilogues = 1;
#elif defined(__SANITIZE_ADDRESS__)
constexpr size_t kEvery = 1;
constexpr size_t kPassesOfALayer = 1, kSeparateEpilogues = SIZE_MAX;
#else
constexpr size_t kEvery = 1;
constexpr size_t kPassesOfALayer = kPasses.size(), kSeparateEpilogues = SIZE_MAX;
#endif

// Layers of AlexNet (conv1 to conv3), VGG-16, ResNet-50 and MobileNet with their filters, strides and, but
// for the first layers, images; fewer images of the batch and channels, as many as the emulator does in a
// second.
constexpr const char* kNetworkShapes[] = {
    "n=1 c=3 hw=35x35 k=8 rs=11x11 stride=4x4",
    "n=1 c=4 hw=27x27 k=8 rs=5x5 pad=2x2",
    "n=2 c=12 hw=13x13 k=16 rs=3x3 pad=1x1",
    "n=1 c=4 hw=28x28 k=8 rs=3x3 pad=1x1",
    "n=2 c=8 hw=14x14 k=12 rs=3x3 pad=1x1",
    "n=1 c=3 hw=32x32 k=8 rs=7x7 stride=2x2 pad=3x3",
    "n=1 c=8 hw=28x28 k=8 rs=3x3 stride=2x2 pad=1x1",
    "n=2 c=32 hw=14x14 k=32 rs=1x1 stride=2x2",
    "n=2 c=32 hw=7x7 k=64 rs=1x1",
    "n=1 c=12 hw=14x14 k=12 rs=3x3 pad=1x1 groups=12",
};

class KernelSweep : public ::testing::TestWithParam<std::string> {
 protected:
  KernelSweep() { register_all(registry_); }

  // One run in the order of threads whose turn it is.
  void expect_right(const Algorithm& algorithm, const ConvProblem& problem, EmulatorOrder order) {
    EmulatorDevice device({.order = order, .seed = 5});
    const auto queue = device.make_queue();
    const auto plan = algorithm.plan(problem, device, {});
    Verification verification(problem, {});
    const Verdict verdict = verification.check_again(algorithm, *plan, device, *queue);
    EXPECT_TRUE(verdict.passed()) << to_line(problem) << ": " << verdict.note;
  }

  Registry registry_;
};

// One in kEvery, and the last one of each pass that is not among them.
std::vector<ConvProblem> sample(const std::vector<ConvProblem>& all) {
  std::vector<ConvProblem> some;
  for (size_t i = 0; i < all.size(); i += kEvery) some.push_back(all[i]);
  for (const Pass pass : kPasses) {
    const auto has_it = [&](const ConvProblem& problem) { return problem.pass == pass; };
    const auto last = std::find_if(all.rbegin(), all.rend(), has_it);
    if (last != all.rend() && std::none_of(some.begin(), some.end(), has_it)) some.push_back(*last);
  }
  return some;
}

EmulatorOrder order_of(size_t turn) {
  return kEveryOrder[(turn + turn / 3) % std::size(kEveryOrder)];
}

TEST_P(KernelSweep, IsRightInEveryOrderOfThreads) {
  const Algorithm& algorithm = *registry_.find(GetParam());
  const EmulatorDevice device;
  std::vector<ConvProblem> problems;
  for (const char* shape : kTinyShapes) {
    const auto of_shape = supported_problems(algorithm, device.info(), shape);
    problems.insert(problems.end(), of_shape.begin(), of_shape.end());
  }
  ASSERT_FALSE(problems.empty()) << "no problem of this sweep is one for " << GetParam();
  size_t turn = 0;
  for (const ConvProblem& problem : sample(problems)) expect_right(algorithm, problem, order_of(turn++));
}

// Epilogues and layouts take turns.
TEST_P(KernelSweep, IsRightWithTheEpilogueInAPassOfItsOwn) {
  const Algorithm* const algorithm = registry_.separate(*registry_.find(GetParam()));
  ASSERT_NE(algorithm, nullptr);
  const EmulatorDevice device;
  size_t turn = 0;
  for (const char* shape : kTinyShapes) {
    const auto problems = supported_problems(*algorithm, device.info(), shape);
    if (problems.empty() || turn == kSeparateEpilogues) continue;
    expect_right(*algorithm, problems[4 * turn % problems.size()], order_of(turn));
    ++turn;
  }
  if (turn == 0) GTEST_SKIP() << "no tensors of f32 for " << GetParam();
}

// In one of the math modes and layouts, which take turns; so do the passes under the address sanitizer.
TEST_P(KernelSweep, IsRightOnLayersOfKnownNetworks) {
  if (kPassesOfALayer == 0) GTEST_SKIP() << "under the thread sanitizer the tiny problems only";
  const Algorithm& algorithm = *registry_.find(GetParam());
  const EmulatorDevice device;
  size_t turn = 0;
  for (size_t layer = 0; layer < std::size(kNetworkShapes); ++layer)
    for (size_t i = 0; i < kPassesOfALayer; ++i) {
      std::vector<ConvProblem> problems = supported_problems(algorithm, device.info(), kNetworkShapes[layer]);
      const Pass pass = kPasses[(layer + i) % kPasses.size()];
      std::erase_if(problems, [&](const ConvProblem& problem) { return problem.pass != pass; });
      if (problems.empty()) continue;
      expect_right(algorithm, problems[turn % problems.size()], order_of(turn));
      ++turn;
    }
  EXPECT_GT(turn, 0u) << "no layer of this sweep is one for " << GetParam();
}

std::vector<std::string> ids() {
  Registry registry;
  register_all(registry);
  std::vector<std::string> all;
  for (const Algorithm* algorithm : registry.all())
    if (algorithm->info().device == DeviceKind::cuda && algorithm->info().emulated)
      all.push_back(algorithm->info().id);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, KernelSweep, ::testing::ValuesIn(ids()), id_as_test_name);

}  // namespace
}  // namespace convscope
