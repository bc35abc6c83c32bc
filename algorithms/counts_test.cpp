// The counts of a plan are those of the schedule that runs: every algorithm of ours is planned for several
// thread counts and workspace caps, run once, and its Plan::operations() compared with the tally of its
// kernels: operations, and on a GPU the bytes that blocks bring to shared memory.
#include <gtest/gtest.h>
#include <omp.h>

#include <optional>
#include <tuple>

#include "algorithms/catalog.hpp"
#include "algorithms/common/tally.hpp"
#include "algorithms/common/test_name_test.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"

namespace convscope {
namespace {

#if defined(CONVSCOPE_TALLY)

// Odd sizes, strides, groups and dilations; images larger than any tile; filters larger than the image's
// planes.
constexpr const char* kShapes[] = {
    "n=1 c=3 hw=7x7 k=5 rs=1x1",
    "n=2 c=16 hw=13x13 k=32 rs=3x3 pad=1x1",
    "n=3 c=5 hw=13x11 k=17 rs=3x3 pad=1x1",
    "n=1 c=4 hw=27x27 k=7 rs=5x5 pad=2x2",
    "n=1 c=3 hw=39x39 k=9 rs=11x11 stride=4x4",
    "n=2 c=6 hw=12x15 k=10 rs=3x3 stride=2x1 pad=1x0",
    "n=2 c=5 hw=15x14 k=6 rs=3x3 pad=2x2 dilation=2x2",
    "n=1 c=32 hw=8x8 k=32 rs=3x3 pad=1x1 groups=2",
    "n=3 c=9 hw=10x11 k=9 rs=3x3 pad=1x1 groups=9",
    "n=2 c=4 hw=5x6 k=3 rs=5x6",
    "n=1 c=17 hw=1x40 k=19 rs=1x3 pad=0x1",
    "n=1 c=128 hw=6x6 k=96 rs=3x3 pad=1x1",
};
constexpr int64_t kCaps[] = {0, 256 << 10, INT64_MAX};
// Not all: one in so many cases, prime to the numbers of passes, layouts, threads and caps. The emulator is
// slow.
constexpr size_t kEvery = 7, kEveryEmulated = 17;

// What prepare() and run() of the plan tallied.
Tally tally_of(Plan& plan, const ConvProblem& problem, Device& device) {
  Buffer input(device, problem.bytes(Role::input)), filter(device, problem.bytes(Role::filter)),
      output(device, problem.bytes(Role::output)), workspace(device, plan.workspace_bytes());
  const ConvArgs args{input.data(), filter.data(), output.data(), workspace.data()};
  const auto queue = device.make_queue();
  reset_tally();
  if (plan.has_prepare()) plan.prepare(args, *queue);
  plan.run(args, *queue);
  queue->synchronize();
  return tally();
}

struct Case {
  ConvProblem problem;
  int threads = 1;
  int64_t cap = 0;
};

// Everything that the algorithm supports, with every number of threads and every cap.
std::vector<Case> cases(const Algorithm& algorithm, const Device& device) {
  const bool on_cpu = algorithm.info().device == DeviceKind::cpu;
  std::vector<Case> all;
  for (const char* shape : kShapes)
    for (Pass pass : kPasses)
      for (Layout layout : kLayouts)
        for (MathMode math : kMathModes) {
          ConvProblem problem = parse_problem(shape);
          problem.pass = pass;
          problem.layout = layout;
          problem.math = math;
          if (!algorithm.supports(problem, device.info())) continue;
          for (int threads : on_cpu ? std::vector{1, 2, 4} : std::vector{1})
            for (int64_t cap : kCaps) all.push_back({problem, threads, cap});
        }
  return all;
}

void expect_counts_of_what_runs(const Algorithm& algorithm, const Case& one, Device& device) {
  SCOPED_TRACE(to_line(one.problem) + ", threads " + std::to_string(one.threads) + ", cap " +
               std::to_string(one.cap));
  omp_set_num_threads(one.threads);
  std::unique_ptr<Plan> plan;
  try {
    plan = algorithm.plan(one.problem, device, {one.cap, one.threads});
  } catch (const Refused&) {
    return;
  }
  const auto count = plan->operations();
  ASSERT_TRUE(count);
  const Tally done = tally_of(*plan, one.problem, device);
  EXPECT_DOUBLE_EQ(count->product_flops, done.product_flops);
  EXPECT_DOUBLE_EQ(count->transform_flops, done.transform_flops);
  if (device.info().kind != DeviceKind::cpu) {
    EXPECT_DOUBLE_EQ(count->cached_bytes, done.staged_bytes);
  }
}

class Counts : public ::testing::TestWithParam<std::string> {};

TEST_P(Counts, AreThoseOfTheScheduleThatRuns) {
  Registry registry;
  register_all(registry);
  const Algorithm& algorithm = *registry.find(GetParam());
  CpuDevice cpu;
  EmulatorDevice emulator;
  const bool on_cpu = algorithm.info().device == DeviceKind::cpu;
  Device& device = on_cpu ? static_cast<Device&>(cpu) : emulator;
  const std::vector<Case> all = cases(algorithm, device);
  ASSERT_FALSE(all.empty());
  for (size_t i = 0; i < all.size(); i += on_cpu ? kEvery : kEveryEmulated)
    expect_counts_of_what_runs(algorithm, all[i], device);
}

// Every algorithm whose arithmetic is ours. The emulator's libraries stand in for cuBLAS and cuFFT.
std::vector<std::string> our_algorithms() {
  Registry registry;
  register_all(registry);
  std::vector<std::string> ids;
  for (const auto& algorithm : registry.all())
    if (algorithm->info().provider == "convscope" && algorithm->info().candidate)
      ids.push_back(algorithm->info().id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Ours, Counts, ::testing::ValuesIn(our_algorithms()), id_as_test_name);

#else

TEST(Counts, AreComparedInCountingBuilds) {
  GTEST_SKIP() << "this build keeps no tally; the sanitized ones do";
}

#endif

}  // namespace
}  // namespace convscope
