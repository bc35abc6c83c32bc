#include "bench/measure/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "bench/core/stopwatch.hpp"
#include "bench/measure/health.hpp"

namespace convscope {
namespace {

// Readings before the first sample, so that it can be judged.
constexpr int kFirstClockReadings = 15;
// Time limits of one candidate that a group may spend on waiting for better placed threads, and as many on a
// device without other programs.
constexpr double kLimitsForWaiting = 5;

double patience_seconds(const MeasureOptions& options) {
  return std::min(options.core_patience_seconds, kLimitsForWaiting * options.sampling.time_limit_seconds);
}

void add(const Timing& one, Timing& all) {
  all.seconds += one.seconds;
  for (size_t phase = 0; phase < kPhaseCount; ++phase)
    if (const auto& seconds = one.phase_seconds[phase])
      all.phase_seconds[phase] = all.phase_seconds[phase].value_or(0) + *seconds;
  if (one.held) all.held = all.held.value_or(true) && *one.held;
  all.operations += one.operations;
}

}  // namespace

Sampler::Sampler(const ConvProblem& problem, Device& device, Queue& queue, const MeasureOptions& options)
    : problem_(problem),
      device_(device),
      queue_(queue),
      options_(options),
      copies_(problem, device, options.cache, options.seed),
      cores_(options.read_cores, options.known_cores, patience_seconds(options)),
      watch_([this] { return read_state(); }, patience_seconds(options)) {}

void Sampler::read_usual_state() {
  for (int reading = 0; reading < kFirstClockReadings; ++reading)
    if (const auto clock = read_state().clock_mhz) clocks_.add(*clock);
  cores_.wait();
}

// The device's, or nothing but the clock of the options.
DeviceState Sampler::read_state() {
  if (!options_.clock_mhz) return device_.state();
  DeviceState state;
  state.clock_mhz = options_.clock_mhz();
  return state;
}

// Without `prepares`, on the workspace that the warm-up prepared: it is the candidate's own, and every copy
// of the filter is equal.
ConvArgs Sampler::run(const MeasureCandidate& candidate, bool prepares) {
  const ConvArgs args = copies_.next(candidate.workspace->data());
  if (prepares) {
    queue_.phase(Phase::prepare);
    candidate.plan->prepare(args, queue_);
    queue_.end_phase();
  }
  candidate.plan->run(args, queue_);
  return args;
}

Timing Sampler::time(const MeasureCandidate& candidate, int64_t iterations, bool prepares) {
  const int64_t together = evicts(options_) ? 1 : iterations;
  Timing all;
  for (int64_t done = 0; done < iterations; done += together) {
    ConvArgs args;
    queue_.begin_timing();
    for (int64_t i = 0; i < together; ++i) args = run(candidate, prepares);
    add(queue_.end_timing(), all);
    if (evicts(options_)) evict(args, candidate.workspace->bytes());
  }
  return all;
}

// After a run rather than before one: what it wrote is written back on nobody's clock.
void Sampler::evict(const ConvArgs& args, size_t workspace_bytes) {
  std::vector<std::span<const std::byte>> memory{
      {static_cast<const std::byte*>(args.workspace), workspace_bytes}};
  for (Role role : kRoles)
    if (options_.cache == CacheState::cold || role == Role::filter)
      memory.emplace_back(static_cast<const std::byte*>(args.tensor(role)),
                          static_cast<size_t>(problem_.bytes(role)));
  options_.evict(memory);
}

// The first run is not held back: it loads kernels and whatever a library loads.
WarmUp Sampler::warm_up(const MeasureCandidate& candidate) {
  WarmUp result;
  const auto begin = Clock::now();
  const auto wants_more = [&] {
    const int64_t wanted = options_.warmup_runs - (result.run_seconds > options_.long_run_seconds ? 1 : 0);
    return result.runs < wanted || seconds_since(begin) < options_.warmup_seconds;
  };
  queue_.mark_phases(true);
  do {
    queue_.hold_back(result.runs > 0);
    const auto run_begin = Clock::now();
    const Timing pilot = time(candidate, 1, candidate.plan->has_prepare());
    const double whole = std::max(pilot.seconds, seconds_since(run_begin));
    // The fastest: what holds up one of them would make the samples too short.
    result.run_seconds = result.runs > 0 ? std::min(result.run_seconds, pilot.seconds) : pilot.seconds;
    result.whole_seconds = result.runs > 0 ? std::min(result.whole_seconds, whole) : whole;
    result.operations = pilot.operations;
    for (const auto& seconds : pilot.phase_seconds) result.has_phases |= seconds.has_value();
    ++result.runs;
  } while (wants_more() &&
           seconds_since(begin) + result.whole_seconds <= options_.sampling.time_limit_seconds / 2);
  result.iterations = iterations_of_sample(result.run_seconds, result.operations, options_, queue_);
  return result;
}

int64_t iterations_of_sample(double run_seconds, int64_t operations, const MeasureOptions& options,
                             const Queue& queue) {
  if (run_seconds >= options.batch_below_seconds) return 1;
  int64_t max = options.max_iterations;
  if (const auto held = queue.max_held_operations(); held && operations > 0)
    max = std::max<int64_t>(std::min(max, *held / operations), 1);
  const double wanted = std::ceil(options.min_sample_seconds / std::max(run_seconds, 1e-9));
  return static_cast<int64_t>(std::clamp(wanted, 1.0, static_cast<double>(max)));
}

double Sampler::sample_seconds(const WarmUp& warm_up, int64_t iterations) const {
  // Where nothing is evicted a pilot's wall time is partly the host's, which the runs of a batch share.
  const double run = evicts(options_) ? warm_up.whole_seconds : warm_up.run_seconds;
  return static_cast<double>(iterations + (runs_untimed(options_) ? 1 : 0)) * run;
}

Sample Sampler::take(const MeasureCandidate& candidate, SeriesKind kind, int64_t iterations) {
  Sample sample;
  const double switches = involuntary_switches();
  const std::optional<CoreReading> before = cores_.wait();
  sample.state = watch_.wait();
  queue_.mark_phases(!options_.phases_apart || kind == SeriesKind::phases);
  queue_.hold_back(true);
  const bool prepares = kind != SeriesKind::inference && candidate.plan->has_prepare();
  if (runs_untimed(options_)) {
    const ConvArgs args = run(candidate, prepares);
    if (evicts(options_)) evict(args, candidate.workspace->bytes());
  }
  std::optional<ThreadReading> threads;
  if (options_.read_threads) threads = options_.read_threads();
  const Timing timing = time(candidate, iterations, prepares);
  if (threads) sample.lost = lost_time(*threads, options_.read_threads());
  const auto runs = static_cast<double>(iterations);
  sample.seconds = timing.seconds / runs;
  for (size_t phase = 0; phase < kPhaseCount; ++phase)
    if (const auto& seconds = timing.phase_seconds[phase]) sample.phase_seconds[phase] = *seconds / runs;
  sample.held = timing.held;
  judge(sample, before);
  sample.involuntary_switches = involuntary_switches() - switches;
  return sample;
}

// By the clock before the sample and what the driver says of it, and by where the threads were before and
// after it.
void Sampler::judge(Sample& sample, const std::optional<CoreReading>& before) {
  sample.throttled = sample.state.is_held_down;
  if (const auto& clock = sample.state.clock_mhz) {
    sample.throttled = sample.throttled || clocks_.is_throttled(*clock);
    clocks_.add(*clock);
  }
  if (!before) return;
  const CoreReading after = cores_.read().value_or(*before);
  sample.throttled = sample.throttled || cores_.is_slow(*before) || cores_.is_slow(after);
  CoreReading& cores = sample.cores.emplace();
  cores.multiply_add_rate = std::min(before->multiply_add_rate, after.multiply_add_rate);
  const auto &first = before->core_to_core_latency_seconds, &second = after.core_to_core_latency_seconds;
  if (first && second) cores.core_to_core_latency_seconds = std::max(*first, *second);
}

}  // namespace convscope
