#include "bench/cli/run/run_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "bench/core/stopwatch.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/measure_group.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/tensor_copies.hpp"
#include "bench/measure/watches.hpp"
#include "bench/record/bound.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/other_loads.hpp"
#include "bench/runner/resolution.hpp"
#include "bench/runner/run_group.hpp"
#include "bench/runner/run_suite.hpp"
#include "bench/select/cost_model.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

constexpr double kWorkerSeconds = 0.1;
// Of the host, a byte: filling, copying and comparing tensors; filling a workspace; writing tensors' copies;
// evicting.
constexpr double kCheckedByte = 1e-9, kWorkspaceByte = 3e-10, kCopiedByte = 2e-10, kEvictedByte = 2.5e-11;
// Multiply-adds in f64 that a core does a second, and those for sums and sample of a problem that is not
// compared in full.
constexpr double kReferenceRate = 1e9, kSampledMultiplyAdds = 1.5e8;
// Clock, cores and threads are read before and after each sample.
constexpr double kReadingSeconds = 3e-4;
constexpr double kPauseSeconds = std::chrono::duration<double>(kPlacingPause).count();

constexpr double kCeilingsSeconds = 1.3;

// The `i`th of samples whose median is 1: quantiles of the logistic distribution, whose tails are heavier
// than a normal one's, as those of times are, in the order of van der Corput, so that any first n of them
// spread alike.
double made_up_sample(int64_t i, double spread) {
  double quantile = 0, digit = 0.5;
  for (int64_t rest = i + 1; rest > 0; rest /= 2, digit /= 2)
    quantile += digit * static_cast<double>(rest % 2);
  const double logistic = std::log(quantile / (1 - quantile)) * std::numbers::sqrt3 / std::numbers::pi;
  return 1 + spread * logistic;
}

struct OneSeries {
  double seconds = 0, samples = 0;
};

// One series that may spend `seconds_left`, as measure_group takes it.
OneSeries one_series(double sample_seconds, double seconds_left, const SamplingRule& rule, double spread) {
  std::vector<double> samples;
  double spent = 0;
  do {
    const auto taken = static_cast<int64_t>(samples.size());
    const int64_t round = next_round(taken, rule, seconds_left - spent, sample_seconds);
    for (int64_t i = taken; i < taken + round; ++i) {
      samples.push_back(made_up_sample(i, spread));
      spent += sample_seconds;
    }
  } while (!stop_reason(samples, rule, seconds_left - spent, sample_seconds));
  return {spent, static_cast<double>(samples.size())};
}

// As Sampler::warm_up() does; `whole` is a run with the eviction after it.
double warm_up_seconds(double run, double whole, const MeasureOptions& options) {
  const double least =
      std::max(static_cast<double>(options.warmup_runs) - (run > options.long_run_seconds ? 1 : 0),
               std::ceil(options.warmup_seconds / whole));
  const double most = std::max(1.0, std::floor(options.sampling.time_limit_seconds / 2 / whole));
  return std::min(least, most) * whole;
}

bool is_checked_whole(const ConvProblem& problem) {
  return problem.nominal_flops() <= VerifyOptions().full_check_flops;
}

// Data on which no output is below zero, so that sums over outputs show what no sample does
// (verification.cpp).
bool is_checked_on_positive_data(const ConvProblem& problem) {
  return !is_checked_whole(problem) && has_relu(problem.epilogue);
}

double expected_seconds(const ConvProblem& problem, int threads, std::span<const PacedCandidate> candidates) {
  const bool on_integers = std::ranges::any_of(candidates, &PacedCandidate::exact_on_integers);
  const double kinds_of_data = 1 + (on_integers ? 1 : 0) + (is_checked_on_positive_data(problem) ? 1 : 0);
  const double outputs = static_cast<double>(problem.elements(written_role(problem.pass)));
  const double all = problem.nominal_flops() / 2;
  const double one_output = all / outputs;
  const double sampled = std::min(all, kSampledMultiplyAdds + static_cast<double>(kMinSample) * one_output);
  return kinds_of_data * (is_checked_whole(problem) ? all : sampled) / (kReferenceRate * threads);
}

// One run of the candidate on new data and the comparison of its result.
double check_seconds(const PacedCandidate& candidate, const ConvProblem& problem) {
  return candidate.run_seconds + kCheckedByte * static_cast<double>(problem.total_bytes()) +
         kWorkspaceByte * static_cast<double>(candidate.workspace_bytes);
}

// Nothing where no ceiling is known.
std::optional<double> predicted_seconds(const ConvProblem& problem,
                                        const std::optional<OperationCount>& operations,
                                        const Ceilings& ceilings) {
  const OperationCount direct{problem.nominal_flops(), 0, static_cast<double>(problem.total_bytes())};
  const PlannedAlgorithm planned{"", operations.value_or(direct)};
  const auto predicted = predict(problem, std::span(&planned, 1), ceilings);
  return predicted.empty() ? std::nullopt : std::optional(predicted.front().seconds());
}

// As a plan tells run_seconds().
std::optional<OperationCount> counts(const ResultRecord& record) {
  return record.operations.executed_flops() > 0 ? std::optional(record.operations) : std::nullopt;
}

// What Pace::spread is, of normally distributed samples; infinite where there is no interval.
double spread_of(const Statistics& of) {
  constexpr double kErrorOfMedian = 1.2533, kQuantile = 1.96;
  return relative_half_width(of) * std::sqrt(static_cast<double>(of.n)) / (kErrorOfMedian * kQuantile);
}

// A few of them, each of which stands for as many.
std::vector<double> thinned(std::vector<double> values) {
  constexpr size_t kMax = 16;
  std::sort(values.begin(), values.end());
  if (values.size() <= kMax) return values;
  std::vector<double> few;
  for (size_t i = 0; i < kMax; ++i) few.push_back(values[(2 * i + 1) * values.size() / (2 * kMax)]);
  return few;
}

// The mean over the spreads: samples grow faster in number than in spread, so that the middle one would stand
// for too few.
SeriesEstimate mean_estimate(const PacedCandidate& candidate, const MeasureOptions& options,
                             const Pace& pace) {
  SeriesEstimate mean;
  for (const double spread : pace.spreads) {
    const SeriesEstimate one = series_estimate(candidate, options, spread, pace.retaken);
    mean.seconds += one.seconds / static_cast<double>(pace.spreads.size());
    mean.retaken += one.retaken / static_cast<double>(pace.spreads.size());
  }
  return mean;
}

// Of all series that are sampled by themselves.
double samples_kept(const Measurement& time) {
  int64_t kept = time.full.statistics.n;
  for (const auto* series : {&time.inference, &time.repeat, &time.single})
    if (*series) kept += (*series)->statistics.n;
  return static_cast<double>(kept);
}

// A core's multiply-adds for a moment; the bandwidth stays a guess.
Ceilings glimpse(const DeviceInfo& device, int threads) {
  constexpr double kSeconds = 0.02;
  constexpr int64_t kRounds = 4000;
  Ceilings seen;
  seen.device = device.kind;
  seen.threads = threads;
  seen.copy_bytes = traits(device.kind).bytes * threads;
  double best = 0;
  for (const auto begin = Clock::now(); seconds_since(begin) < kSeconds;) {
    const auto turn = Clock::now();
    keep(multiply_add_chains(kRounds));
    best = std::max(best, static_cast<double>(kRounds * operations_per_round()) / seconds_since(turn));
  }
  seen.fma_flops = best * threads;
  return seen;
}

}  // namespace

Pace pace_of(const DeviceInfo& device, int threads) {
  Pace pace;
  std::vector<ResultRecord> measured;
  bool is_calibrated = false;
  for (const std::vector<ResultRecord>& run : calibration_runs(device, threads))
    for (const ResultRecord& record : run) {
      pace.ceilings = is_calibrated ? best_of(pace.ceilings, record.ceilings) : record.ceilings;
      is_calibrated = true;
      if (record.outcome == Outcome::measured && record.time) measured.push_back(record);
    }
  if (!is_calibrated && device.kind == DeviceKind::cpu) pace.ceilings = glimpse(device, threads);
  std::vector<double> spreads, over_predicted;
  std::map<std::string, std::vector<double>> of_algorithm, planning;
  double kept = 0, retaken = 0;
  for (const ResultRecord& record : measured) {
    const Statistics& full = record.time->full.statistics;
    if (const double spread = spread_of(full); std::isfinite(spread)) spreads.push_back(spread);
    if (const auto predicted = predicted_seconds(record.key.problem, counts(record), pace.ceilings)) {
      over_predicted.push_back(full.median / *predicted);
      of_algorithm[record.key.algorithm].push_back(full.median / *predicted);
    }
    planning[record.key.algorithm].push_back(record.time->plan_seconds);
    if (record.time->inference) pace.preparing.insert(record.key.algorithm);
    if (std::ranges::any_of(record.time->phase_seconds, [](const auto& phase) { return phase.has_value(); }))
      pace.phased.insert(record.key.algorithm);
    kept += samples_kept(*record.time);
    retaken += static_cast<double>(record.health.discarded_samples);
  }
  if (!spreads.empty()) pace.spreads = thinned(std::move(spreads));
  if (!over_predicted.empty()) pace.times_predicted = summarise(over_predicted).mean;
  for (const auto& [id, times] : of_algorithm) pace.times_predicted_of[id] = summarise(times).mean;
  for (const auto& [id, times] : planning) pace.plan_seconds_of[id] = summarise(times).mean;
  if (kept > 0) pace.retaken = retaken / kept;
  return pace;
}

double run_seconds(const CaseKey& key, const std::optional<OperationCount>& operations, const Pace& pace) {
  const ConvProblem& problem = key.problem;
  if (const auto predicted = predicted_seconds(problem, operations, pace.ceilings)) {
    const auto own = pace.times_predicted_of.find(key.algorithm);
    return *predicted * (own != pace.times_predicted_of.end() ? own->second : pace.times_predicted);
  }
  const DeviceTraits& device = traits(key.device);
  return problem.nominal_flops() / device.convolution_flops / (device.rates_are_per_thread ? key.threads : 1);
}

double evict_seconds(const CaseKey& key, int64_t workspace_bytes) {
  const int64_t tensors =
      key.cache == CacheState::cold ? key.problem.total_bytes() : key.problem.bytes(Role::filter);
  return kEvictedByte * static_cast<double>(workspace_bytes + tensors);
}

SeriesEstimate series_estimate(const PacedCandidate& candidate, const MeasureOptions& options, double spread,
                               double retaken) {
  const SamplingRule& rule = options.sampling;
  const double run = std::max(candidate.run_seconds, 1e-7);
  const double warm_up = warm_up_seconds(run, run + candidate.evict_seconds, options);
  const double runs = run >= options.batch_below_seconds
                          ? 1
                          : std::min(std::ceil(options.min_sample_seconds / run),
                                     static_cast<double>(options.max_iterations));
  const auto sample_of = [&](double timed_runs) {
    return (timed_runs + (runs_untimed(options) ? 1 : 0)) * (run + candidate.evict_seconds) + kReadingSeconds;
  };
  std::vector samples(1, sample_of(runs));
  for (const bool has_series :
       {candidate.has_prepare, rule.repeat, options.phases_apart && candidate.has_phases})
    if (has_series) samples.push_back(sample_of(runs));
  if (options.single_series && runs > 1) samples.push_back(sample_of(1));
  const double each = (rule.time_limit_seconds - warm_up) / static_cast<double>(samples.size());
  SeriesEstimate all{warm_up, 0};
  for (const double sample : samples) {
    const OneSeries one = one_series(sample, each, rule, spread);
    const double again = std::min(retaken * one.samples, static_cast<double>(rule.min_samples));
    all.seconds += one.seconds + again * sample;
    all.retaken += again;
  }
  return all;
}

StageSeconds estimate(const GroupTask& task, std::span<const PacedCandidate> candidates,
                      const DeviceInfo& device, const Pace& pace) {
  const CaseKey& key = task.group.common;
  const Protocol& protocol = task.protocol;
  StageSeconds seconds;
  seconds.start = kWorkerSeconds;
  if (candidates.empty()) return seconds;
  seconds.expected = expected_seconds(key.problem, key.threads, candidates);
  const bool is_measured = protocol.measure && device.kind != DeviceKind::emulator;
  // As often as threads make a sample be taken again they are found badly placed before one.
  double pauses = 0;
  for (const PacedCandidate& candidate : candidates) {
    seconds.plan += candidate.plan_seconds;
    const double check = check_seconds(candidate, key.problem);
    // The second run on the same data is compared with the first besides.
    const int checks =
        2 + (candidate.exact_on_integers ? 1 : 0) + (is_checked_on_positive_data(key.problem) ? 1 : 0);
    seconds.verify += checks * check;
    if (!is_measured || !candidate.is_timed) continue;
    const SeriesEstimate series = mean_estimate(candidate, measure_options(task, device.kind), pace);
    seconds.measure += series.seconds;
    pauses += series.retaken * kPauseSeconds;
    seconds.verify_again += check;
  }
  if (seconds.measure > 0)
    seconds.measure += kCopiedByte * static_cast<double>(copied_bytes(key.problem, key.cache, device)) +
                       std::min(kBurnInSeconds, protocol.sampling.time_limit_seconds) +
                       std::min(pauses, MeasureOptions().core_patience_seconds);
  return seconds;
}

double run_overhead_seconds(double groups, int64_t measured_with) {
  if (measured_with == 0) return 0;
  const double turns = groups > kCeilingsHold ? 2 : 1;
  return kLookSeconds + turns * kCeilingsSeconds * static_cast<double>(measured_with);
}

}  // namespace convscope
