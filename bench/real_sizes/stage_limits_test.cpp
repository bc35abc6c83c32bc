// The limits of every stage against what the work of every shipped layer needs at batch 256, told from the
// protocol alone: nothing runs.
#include "bench/runner/stage_limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/measure/measure_group.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/tensor_copies.hpp"
#include "bench/real_sizes/shipped_cases.hpp"
#include "bench/verify/verification.hpp"

namespace convscope::real_sizes {
namespace {

constexpr double kTimeLimit = 0.05;  // a quick check's: what does not follow from it must come from the work

// The slowest right record of all runs in results/ (cuDNN's algorithm 0, backward-data in BF16 on an H100)
// takes as long as this many times its arithmetic at the measured rate and its bytes at that of a copy.
constexpr double kArithmeticOfSlowest = 115, kBytesOfSlowest = 23;
// Of a host five times as slow as that of run_estimate.cpp: a byte that is filled, copied and compared; one
// of the tensors' copies; a multiply-add in f64.
constexpr double kCheckedByte = 5e-9, kCopiedByte = 1e-9, kReference = 5e-9;

double slowest_run(const ConvProblem& problem, const Ceilings& ceilings) {
  return kArithmeticOfSlowest * problem.nominal_flops() / ceilings.fma_flops +
         kBytesOfSlowest * static_cast<double>(problem.total_bytes()) / ceilings.copy_bytes;
}

// On the CPU, of whole numbers, uniform and, behind a ReLU, positive ones.
double expected_values(const ConvProblem& problem) {
  constexpr double kKindsOfData = 3, kSumsOverAllOutputs = 1e8;
  const double outputs = static_cast<double>(problem.elements(written_role(problem.pass)));
  const double all = problem.nominal_flops() / 2, each = all / outputs;
  const bool is_sampled = problem.nominal_flops() > VerifyOptions().full_check_flops;
  const double sampled =
      std::min(outputs, each > 12'000 ? 1024.0 : static_cast<double>(VerifyOptions().sampled_outputs));
  return kKindsOfData * kReference * (is_sampled ? kSumsOverAllOutputs + sampled * each : all);
}

double verification(const ConvProblem& problem, double run) {
  constexpr int kRuns = 4;  // of each kind of data, and a second one of the uniform
  return expected_values(problem) + kRuns * (run + kCheckedByte * static_cast<double>(problem.total_bytes()));
}

// A series that never converges, and of which each sample takes one run.
double series(double run, double seconds_left, const SamplingRule& rule) {
  std::vector<double> samples;
  double spent = 0;
  do {
    const auto taken = static_cast<int64_t>(samples.size());
    for (int64_t round = next_round(taken, rule, seconds_left - spent, run); round > 0; --round) {
      samples.push_back(samples.size() % 2 == 0 ? run : 2 * run);
      spent += run;
    }
  } while (!stop_reason(samples, rule, seconds_left - spent, run));
  return spent;
}

struct Measuring {
  double longest_visit = 0, whole = 0;
};

Measuring measuring(const GroupTask& task, double run, const DeviceInfo& device) {
  constexpr int kSeries = 5;
  const ConvProblem& problem = task.group.common.problem;
  const SamplingRule& rule = task.protocol.sampling;
  const double copies = kCopiedByte * static_cast<double>(problem.total_bytes()) *
                        static_cast<double>(cold_copies(problem.total_bytes(), device));
  const double warm_up = std::max(run, std::min(rule.time_limit_seconds / 2, 3 * run));
  const double share = (rule.time_limit_seconds - warm_up) / kSeries;
  // A sample that was disturbed is taken again while its series has time.
  const double sample = run + (run < share ? share + run : 0);
  return {std::max(copies + warm_up, sample), copies + warm_up + kSeries * series(run, share, rule)};
}

struct Machine {
  const char* name;
  DeviceInfo device;
  Ceilings ceilings;
};

std::vector<Machine> machines() {
  std::vector<Machine> all{{"two slow cores", {}, {}}, {"a small GPU", {}, {}}, {"an H100", {}, {}}};
  all[0].ceilings.fma_flops = 4e10;
  all[0].ceilings.copy_bytes = 5e9;
  all[1].ceilings.fma_flops = 1e12;
  all[1].ceilings.copy_bytes = 1e11;
  all[2].ceilings.fma_flops = 6e13;
  all[2].ceilings.copy_bytes = 3e12;
  for (Machine& machine : all) {
    machine.device.kind = machine.ceilings.device =
        &machine == all.data() ? DeviceKind::cpu : DeviceKind::cuda;
    machine.device.llc_bytes = int64_t{32} << 20;
    machine.device.memory_bytes = int64_t{64} << 30;
  }
  return all;
}

TEST(StageLimitsOfShippedLayers, AreNeverBelowWhatTheSlowestRightRowNeedsAtBatch256) {
  size_t looked_at = 0;
  for (const Machine& machine : machines())
    for (const ShippedProblem& shipped : shipped_problems(machine.device.kind)) {
      if (shipped.problem.batch != 256) continue;
      GroupTask task;
      task.group.common.problem = shipped.problem;
      task.group.common.device = machine.device.kind;
      task.group.common.threads = 2;
      task.protocol.sampling.time_limit_seconds = kTimeLimit;
      const StageLimits limits =
          stage_limits(task, work_of(shipped.problem, machine.device.kind), machine.device, machine.ceilings);
      const double run = slowest_run(shipped.problem, machine.ceilings);
      const Measuring needed = measuring(task, run, machine.device);
      const std::string what =
          std::string(machine.name) + ": " + shipped.layer + ", " + to_line(shipped.problem);
      EXPECT_GT(limits.of(Stage::verify).whole, verification(shipped.problem, run)) << what;
      EXPECT_GT(limits.of(Stage::verify).silence, verification(shipped.problem, run)) << what;
      EXPECT_GT(limits.of(Stage::measure).silence, needed.longest_visit) << what;
      EXPECT_GT(limits.of(Stage::measure).whole, needed.whole) << what;
      ++looked_at;
    }
  EXPECT_GT(looked_at, 1000u);
}

}  // namespace
}  // namespace convscope::real_sizes
