#include "bench/runner/stage_limits.hpp"

#include <gtest/gtest.h>

#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

constexpr double kHalfAnHour = 1800;

GroupTask task_of(const std::string& problem, double time_limit_seconds = 15) {
  GroupTask task = testing::small_task(time_limit_seconds);
  task.group.common.problem = parse_problem(problem);
  return task;
}

StageLimits limits_of(const GroupTask& task, const DeviceInfo& device, const Ceilings& ceilings = {}) {
  return stage_limits(task, work_of(task.group.common.problem, device.kind), device, ceilings);
}

DeviceInfo device_of(DeviceKind kind) {
  DeviceInfo device;
  device.kind = kind;
  return device;
}

// Of an H100.
Ceilings gpu_ceilings() {
  Ceilings ceilings;
  ceilings.device = DeviceKind::cuda;
  ceilings.fma_flops = 6e13;
  ceilings.copy_bytes = 3e12;
  return ceilings;
}

constexpr const char* kConv1 = "forward n=256 c=3 hw=227x227 k=96 rs=11x11 stride=4x4";
constexpr const char* kVgg = "forward n=16 c=64 hw=224x224 k=64 rs=3x3 pad=1x1";

TEST(StageLimits, LetAHangOfASmallProblemCostAboutAMinute) {
  const StageLimits limits =
      limits_of(task_of("n=1 c=16 hw=14 k=16 rs=3 pad=1", 2), device_of(DeviceKind::cuda), gpu_ceilings());
  EXPECT_LE(limits.verify.whole, 35);
  EXPECT_LE(limits.measure.silence, 35);
  EXPECT_LE(limits.plan.silence, 65);
}

TEST(StageLimits, LetNoHangCostHalfAnHourInTheLargestShippedLayers) {
  for (const char* problem : {kConv1, "forward n=256 c=64 hw=224x224 k=64 rs=3x3 pad=1x1",
                              "backward_filter n=256 c=64 hw=224x224 k=64 rs=3x3 pad=1x1"}) {
    const StageLimits limits = limits_of(task_of(problem), device_of(DeviceKind::cuda), gpu_ceilings());
    for (Stage stage : kStages) EXPECT_LT(limits.of(stage).silence, kHalfAnHour / 3) << problem;
  }
}

// On 2 cores of 1e11 multiply-adds' operations a second each; a right row that reaches a fiftieth.
TEST(StageLimits, SufficeForTheSlowestRightRowOfABigProblem) {
  Ceilings ceilings;
  ceilings.fma_flops = 2e11;
  ceilings.copy_bytes = 1e10;
  const GroupTask task = task_of(kVgg);
  const double run = task.group.common.problem.nominal_flops() / (ceilings.fma_flops / 50);
  const StageLimits limits = limits_of(task, device_of(DeviceKind::cpu), ceilings);
  EXPECT_GT(limits.verify.whole, 5 * run);
  EXPECT_GT(limits.measure.silence, task.protocol.sampling.time_limit_seconds + run);
  EXPECT_GT(limits.measure.whole, 11 * task.protocol.sampling.time_limit_seconds + run);
}

TEST(StageLimits, GrowWithTheWorkOfTheAlgorithmWhereItDoesMoreThanTheProblemAsks) {
  const GroupTask task = task_of("n=1 c=4096 hw=1x1 k=1000 rs=1x1");
  const RunWork tiles{1e12, 1e9};  // transforms and products of tiles of 32x32 for images of one pixel
  const DeviceInfo cpu = device_of(DeviceKind::cpu);
  EXPECT_GT(stage_limits(task, tiles, cpu, {}).verify.whole,
            stage_limits(task, work_of(task.group.common.problem, cpu.kind), cpu, {}).verify.whole + 10);
}

TEST(StageLimits, AreThoseOfTheFlagWhereItIsSet) {
  GroupTask task = task_of(kVgg, 10);
  task.protocol.sampling.stage_limit_seconds = 45;
  const StageLimits limits = limits_of(task, device_of(DeviceKind::cuda), gpu_ceilings());
  EXPECT_EQ(limits.plan.silence, 45);
  EXPECT_EQ(limits.plan.whole, 45);
  EXPECT_EQ(limits.of(Stage::verify).whole, 45);
  EXPECT_EQ(limits.of(Stage::verify_again).whole, 45);
  EXPECT_EQ(limits.measure.silence, 45 + 10);
  EXPECT_EQ(limits.measure.whole, 45 + 11 * 10);
  EXPECT_EQ(ceilings_limit(45), 45);
  EXPECT_GT(ceilings_limit(0), 10);
}

TEST(StageLimits, GiveAPlannerThatShowsLifeMoreThanASilentOne) {
  const StageLimits limits = limits_of(task_of(kVgg), device_of(DeviceKind::cuda));
  EXPECT_GT(limits.plan.whole, 5 * limits.plan.silence);
  EXPECT_LT(limits.plan.whole, kHalfAnHour);
}

TEST(RunWork, IsTheProblemsUntilAPlanCountsMore) {
  const ConvProblem problem = parse_problem("n=1 c=2 hw=6x5 k=3 rs=3x3");
  const auto bytes = static_cast<double>(problem.total_bytes());
  EXPECT_EQ(work_of(problem, DeviceKind::cpu).flops, problem.nominal_flops());
  EXPECT_EQ(work_of(problem, DeviceKind::cpu).bytes, bytes);
  EXPECT_EQ(work_of(problem, DeviceKind::cpu, {1, 1, 1, 1}).flops, problem.nominal_flops());
  EXPECT_EQ(work_of(problem, DeviceKind::cpu, {1e9, 2e9, 0, 0}).flops, 3e9);
  EXPECT_EQ(work_of(problem, DeviceKind::cpu, {0, 0, 2 * bytes, bytes}).bytes, 3 * bytes);
  EXPECT_EQ(work_of(problem, DeviceKind::cuda, {0, 0, 2 * bytes, bytes}).bytes, 2 * bytes);
}

}  // namespace
}  // namespace convscope
