#include "bench/runner/stage_limits.hpp"

#include <algorithm>

#include "bench/runner/devices.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

constexpr double kMinShareOfArithmetic = 0.01, kMinShareOfBandwidth = 0.05;
// Of the host, for filling, copying and comparing tensors; and for the sums in f64 that the CPU expects.
constexpr double kHostSecondsPerByte = 2.5e-8, kReferenceFlops = 1e8;
// Of a candidate: full, inference, repeat, single, phases. They share a time limit, and each may take two
// more for the samples of an interval (bench/measure/statistics), each with a run: what began in time ends
// behind it.
constexpr double kSeries = 5, kLimitsBeyond = 2;
constexpr double kCeilingsLimitSeconds = 60;

struct Rates {
  double flops = 0, bytes = 0;  // per second
};

// The measured ones, or a modest guess.
Rates rates_of(const DeviceInfo& device, int threads, const Ceilings& ceilings) {
  const DeviceTraits& guess = traits(device.kind);
  Rates rates{guess.flops * (guess.rates_are_per_thread ? threads : 1), guess.bytes};
  if (ceilings.fma_flops > 0) rates.flops = ceilings.fma_flops;
  if (ceilings.copy_bytes > 0) rates.bytes = ceilings.copy_bytes;
  return rates;
}

// What the protocol lets all samples of a candidate take.
double granted_seconds(double time_limit, double run) {
  return time_limit + kSeries * kLimitsBeyond * (time_limit + run);
}

// What the CPU computes in f64 where no GPU does: few outputs of many products are the worst.
double reference_seconds(const ConvProblem& problem) {
  const double outputs = static_cast<double>(problem.elements(written_role(problem.pass)));
  return std::min(static_cast<double>(kMinSample), outputs) * problem.nominal_flops() / outputs /
         kReferenceFlops;
}

}  // namespace

const StageLimit& StageLimits::of(Stage stage) const {
  return stage == Stage::plan ? plan : stage == Stage::measure ? measure : verify;
}

RunWork work_of(const ConvProblem& problem, DeviceKind device, const OperationCount& planned) {
  const double cached = device == DeviceKind::cpu ? planned.cached_bytes : 0;
  return {std::max(problem.nominal_flops(), planned.executed_flops()),
          std::max(static_cast<double>(problem.total_bytes()), planned.bytes + cached)};
}

StageLimits stage_limits(const GroupTask& task, const RunWork& work, const DeviceInfo& device,
                         const Ceilings& ceilings) {
  const ConvProblem& problem = task.group.common.problem;
  const double time_limit = task.protocol.sampling.time_limit_seconds,
               set = task.protocol.sampling.stage_limit_seconds;
  if (set > 0) return {{set, set}, {set, set}, {set + time_limit, set + granted_seconds(time_limit, 0)}};

  const Rates rates = rates_of(device, task.group.common.threads, ceilings);
  const double run =
      work.flops / (kMinShareOfArithmetic * rates.flops) + work.bytes / (kMinShareOfBandwidth * rates.bytes);
  const double tensors = static_cast<double>(problem.total_bytes());
  const double copies = 2 * (tensors + static_cast<double>(device.llc_bytes));
  StageLimits limits;
  limits.plan.silence = 60 + (device.kind == DeviceKind::cuda ? 30 * run : 0);
  limits.plan.whole = 10 * limits.plan.silence;
  limits.verify.silence = 30 + 6 * run + kHostSecondsPerByte * tensors + reference_seconds(problem);
  limits.verify.whole = limits.verify.silence;
  limits.measure.silence = 20 + 2 * time_limit + 4 * run + kHostSecondsPerByte * copies;
  limits.measure.whole = limits.measure.silence + granted_seconds(time_limit, run);
  return limits;
}

double ceilings_limit(double stage_limit_seconds) {
  return stage_limit_seconds > 0 ? stage_limit_seconds : kCeilingsLimitSeconds;
}

}  // namespace convscope
