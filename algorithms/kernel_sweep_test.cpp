// Every row for GPUs of the catalog, on the emulator: on tiny problems each is right or refuses with a
// reason, in every order of threads. One run a problem, so that the thread sanitizer, to which each thread of
// a block is a fiber of its own, has time for all kernels; the folders' own tests look at larger problems and
// at all that can go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/catalog.hpp"
#include "bench/device/emulator/emulator_device.hpp"
#include "bench/device/emulator/every_order_test.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr size_t kEvery = 11;  // prime to the passes, math modes and layouts, so that it meets all of them
#else
constexpr size_t kEvery = 1;
#endif

// At least one that each row takes.
constexpr const char* kShapes[] = {
    "n=1 c=3 hw=6x5 k=4 rs=3x3 pad=1x1",
    "n=1 c=2 hw=7x6 k=3 rs=5x5 pad=2x2",
    "n=2 c=4 hw=7x6 k=6 rs=3x3 stride=2x2 pad=1x1",
    "n=1 c=3 hw=5x6 k=3 rs=3x3 pad=1x1 groups=3",
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

std::vector<ConvProblem> problems_of(const Algorithm& algorithm, const DeviceInfo& device) {
  std::vector<ConvProblem> all;
  for (const char* shape : kShapes)
    for (MathMode math : kMathModes)
      for (Layout layout : kLayouts)
        for (Pass pass : kPasses) {
          ConvProblem problem = parse_problem(shape);
          problem.math = math;
          problem.layout = layout;
          problem.pass = pass;
          if (algorithm.supports(problem, device)) all.push_back(problem);
        }
  return all;
}

TEST_P(KernelSweep, IsRightInEveryOrderOfThreads) {
  const Algorithm& algorithm = *registry_.find(GetParam());
  const EmulatorDevice device;
  const std::vector<ConvProblem> problems = problems_of(algorithm, device.info());
  ASSERT_FALSE(problems.empty()) << "no problem of this sweep is one for " << GetParam();
  for (size_t turn = 0; turn * kEvery < problems.size(); ++turn)
    expect_right(algorithm, problems[turn * kEvery], kEveryOrder[(turn + turn / 3) % std::size(kEveryOrder)]);
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

INSTANTIATE_TEST_SUITE_P(Catalog, KernelSweep, ::testing::ValuesIn(ids()), [](const auto& suite) {
  std::string name = suite.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace convscope
