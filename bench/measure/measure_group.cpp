#include "bench/measure/measure_group.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>

#include "bench/device/device_error.hpp"
#include "bench/measure/benchmark_driver.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/clock_watch.hpp"
#include "bench/measure/core_watch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/stop_rule.hpp"
#include "bench/measure/stopwatch.hpp"
#include "bench/measure/tensor_copies.hpp"

namespace convscope {
namespace {

// Clock readings before the first candidate: what is usual, when the first sample is judged.
constexpr int kFirstClockReadings = 15;
// Names of a sample's values.
constexpr std::string_view kMultiplyAddRate = "multiply_add_rate", kSignal = "signal_seconds",
                           kNotHeld = "not_held";
// Runs over this warm more with each, so that one less will do.
constexpr double kLongRunSeconds = 0.05;

enum class SeriesKind { full, inference, repeat, single, phases };

std::string_view name(SeriesKind kind) {
  constexpr std::string_view names[] = {"full", "inference", "repeat", "single", "phases"};
  return names[static_cast<size_t>(kind)];
}

// One series of one candidate while it is being taken.
struct Track {
  size_t candidate;
  SeriesKind kind;
  double seconds_left;
  double sample_cost = 0;  // wall seconds of one sample, untimed parts included
  int64_t rounds = 0;
  int64_t discarded = 0;  // samples taken again because the device was slower than it can be
  std::vector<BenchmarkSample> samples;
  std::vector<double> seconds;  // per run
  std::string stop_reason;      // empty while it goes on
};

// What a candidate's runs showed besides their times.
struct Watch {
  int64_t warmup_runs = 0;
  int64_t iterations_per_sample = 1;
  double switches = 0;
  bool has_phases = false;
  std::vector<double> watts, celsius;
  std::set<std::string> throttle_reasons;
  std::string error;
};

std::string phase_value(Phase phase) {
  return "phase_" + std::string(name(phase)) + "_seconds";
}

double median(std::vector<double> values) {
  return summarise(values).median;
}

class Group {
 public:
  Group(const ConvProblem& problem, std::span<const MeasureCandidate> candidates, Device& device,
        Queue& queue, const MeasureOptions& options, const MeasureObserver& observer)
      : problem_(problem),
        candidates_(candidates),
        device_(device),
        queue_(queue),
        options_(options),
        observer_(observer),
        copies_(problem, device, options.cache, options.seed),
        watches_(candidates.size()),
        cores_(options.read_cores, options.known_cores,
               std::min(options.core_patience_seconds, 5 * options.time_limit_seconds)) {}

  GroupMeasurement measure();

 private:
  void warm_up(size_t candidate);
  int64_t most_iterations(int64_t operations) const;
  void add_tracks(size_t candidate, double seconds_left, double run_seconds);
  void run_round(BenchmarkDriver& driver);
  std::string benchmark_name(const Track& track) const;
  BenchmarkSample take(Track& track);
  bool was_slow(BenchmarkSample& sample, const std::optional<CoreReading>& before);
  BenchmarkSample time_one(const Track& track);
  Timing run_full(const MeasureCandidate& candidate, int64_t iterations);
  Timing run_inference(const MeasureCandidate& candidate, int64_t iterations);
  int64_t iterations_of(const Track& track) const;
  std::optional<double> read_clock(Watch* watch);
  std::optional<double> median_of(size_t candidate, std::string_view value) const;
  static Series series_of(const Track& track);
  MeasureResult result(size_t candidate) const;
  static void fill_phases(const Track& track, Measurement& time);
  static void fill_kernel(const Track& track, Measurement& time);
  static void fill_health(const Watch& watch, Health& health);

  const ConvProblem& problem_;
  std::span<const MeasureCandidate> candidates_;
  Device& device_;
  Queue& queue_;
  const MeasureOptions& options_;
  const MeasureObserver& observer_;
  TensorCopies copies_;
  std::vector<Watch> watches_;
  std::vector<Track> tracks_;
  ClockWatch clocks_;
  CoreWatch cores_;
  std::exception_ptr lost_;  // the DeviceLost that ended it
};

Timing Group::run_full(const MeasureCandidate& candidate, int64_t iterations) {
  const bool prepares = candidate.plan->has_prepare();
  queue_.begin_timing();
  for (int64_t i = 0; i < iterations; ++i) {
    const ConvArgs args = copies_.next(candidate.workspace->data());
    if (prepares) {
      queue_.phase(Phase::prepare);
      candidate.plan->prepare(args, queue_);
      queue_.end_phase();
    }
    candidate.plan->run(args, queue_);
  }
  return queue_.end_timing();
}

Timing Group::run_inference(const MeasureCandidate& candidate, int64_t iterations) {
  // The warm-up prepared the workspace, which is the candidate's own, and every copy of the filter is equal.
  queue_.begin_timing();
  for (int64_t i = 0; i < iterations; ++i)
    candidate.plan->run(copies_.next(candidate.workspace->data()), queue_);
  return queue_.end_timing();
}

// At least warmup_runs and warmup_seconds, unless that would take more than half of the limit; one run less
// where a run is long. The first run is not held back: it loads kernels and whatever a library loads. The
// last run is the pilot that sizes the samples.
void Group::warm_up(size_t candidate) {
  if (observer_) observer_(candidate);
  Watch& watch = watches_[candidate];
  const auto begin = Clock::now();
  double run_seconds = 0;
  int64_t operations = 0;
  try {
    queue_.mark_phases(true);
    do {
      queue_.hold_back(watch.warmup_runs > 0);
      const Timing pilot = run_full(candidates_[candidate], 1);
      run_seconds = pilot.seconds;
      operations = pilot.operations;
      for (const auto& seconds : pilot.phase_seconds) watch.has_phases |= seconds.has_value();
      ++watch.warmup_runs;
    } while ((watch.warmup_runs < options_.warmup_runs - (run_seconds > kLongRunSeconds ? 1 : 0) ||
              seconds_since(begin) < options_.warmup_seconds) &&
             seconds_since(begin) + run_seconds <= options_.time_limit_seconds / 2);
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    watch.error = error.what();
    return;
  }
  const double iterations = std::ceil(options_.min_sample_seconds / std::max(run_seconds, 1e-9));
  if (run_seconds < options_.batch_below_seconds)
    watch.iterations_per_sample =
        static_cast<int64_t>(std::clamp(iterations, 1.0, static_cast<double>(most_iterations(operations))));
  add_tracks(candidate, options_.time_limit_seconds - seconds_since(begin), run_seconds);
}

// Runs of so many operations each that one sample may have: no more than can be held back together.
int64_t Group::most_iterations(int64_t operations) const {
  const auto held = queue_.most_held_operations();
  if (!held || operations == 0) return options_.max_iterations;
  return std::max<int64_t>(std::min(options_.max_iterations, *held / operations), 1);
}

// The series share what is left of the candidate's time.
void Group::add_tracks(size_t candidate, double seconds_left, double run_seconds) {
  std::vector<SeriesKind> kinds{SeriesKind::full};
  if (candidates_[candidate].plan->has_prepare()) kinds.push_back(SeriesKind::inference);
  if (options_.repeat) kinds.push_back(SeriesKind::repeat);
  const Watch& watch = watches_[candidate];
  if (options_.single_series && watch.iterations_per_sample > 1) kinds.push_back(SeriesKind::single);
  if (options_.phases_apart && watch.has_phases) kinds.push_back(SeriesKind::phases);
  for (SeriesKind kind : kinds) {
    Track& track = tracks_.emplace_back();
    track.candidate = candidate;
    track.kind = kind;
    track.seconds_left = seconds_left / static_cast<double>(kinds.size());
    track.sample_cost = run_seconds * static_cast<double>(iterations_of(track));
  }
}

int64_t Group::iterations_of(const Track& track) const {
  return track.kind == SeriesKind::single ? 1 : watches_[track.candidate].iterations_per_sample;
}

// The clock, by the options or the device. Of the device's state the rest goes to `watch`, where there is
// one.
std::optional<double> Group::read_clock(Watch* watch) {
  if (options_.clock_mhz) return options_.clock_mhz();
  const DeviceState state = device_.state();
  if (watch == nullptr) return state.clock_mhz;
  if (state.power_watts) watch->watts.push_back(*state.power_watts);
  if (state.temperature_celsius) watch->celsius.push_back(*state.temperature_celsius);
  if (!state.throttle_reasons.empty()) watch->throttle_reasons.insert(state.throttle_reasons);
  return state.clock_mhz;
}

BenchmarkSample Group::time_one(const Track& track) {
  const MeasureCandidate& candidate = candidates_[track.candidate];
  const int64_t iterations = iterations_of(track);
  BenchmarkSample sample;
  if (const auto clock = read_clock(&watches_[track.candidate])) sample.values["clock_mhz"] = *clock;
  queue_.mark_phases(!options_.phases_apart || track.kind == SeriesKind::phases);
  queue_.hold_back(true);
  const Timing timing = track.kind == SeriesKind::inference ? run_inference(candidate, iterations)
                                                            : run_full(candidate, iterations);
  sample.seconds = timing.seconds;
  if (timing.held) sample.values[std::string(kNotHeld)] = *timing.held ? 0 : 1;
  for (Phase phase : kPhases)
    if (const auto& seconds = timing.phase_seconds[static_cast<size_t>(phase)])
      sample.values[phase_value(phase)] = *seconds / static_cast<double>(iterations);
  return sample;
}

// Whether the clock was throttled before the sample or the threads badly placed before or after it. Adds what
// it read to the sample.
bool Group::was_slow(BenchmarkSample& sample, const std::optional<CoreReading>& before) {
  bool slow = false;
  if (const auto clock = sample.values.find("clock_mhz"); clock != sample.values.end()) {
    slow = clocks_.is_throttled(clock->second);
    clocks_.add(clock->second);
  }
  if (before) {
    const CoreReading after = cores_.read().value_or(*before);
    slow = slow || cores_.is_slow(*before) || cores_.is_slow(after);
    sample.values[std::string(kMultiplyAddRate)] =
        std::min(before->multiply_add_rate, after.multiply_add_rate);
    if (before->signal_seconds && after.signal_seconds)
      sample.values[std::string(kSignal)] = std::max(*before->signal_seconds, *after.signal_seconds);
  }
  return slow;
}

// Takes a sample again that a throttled clock or badly placed threads made slow, but in all no more often
// than min_samples times a series and while it has time: a device that stays slow ends with samples all the
// same, and with a mark.
BenchmarkSample Group::take(Track& track) {
  if (lost_) std::rethrow_exception(lost_);  // the driver goes on to the next series
  Watch& watch = watches_[track.candidate];
  if (observer_) observer_(track.candidate);
  const auto begin = Clock::now();
  const double switches = involuntary_switches(), waited = cores_.waited_seconds();
  BenchmarkSample sample;
  try {
    for (bool again = true; again; track.discarded += again) {
      const std::optional<CoreReading> before = cores_.wait();
      sample = time_one(track);
      again = was_slow(sample, before) && track.discarded < options_.min_samples &&
              seconds_since(begin) < track.seconds_left;
    }
  } catch (const DeviceLost&) {
    lost_ = std::current_exception();
    throw;
  } catch (const std::exception& error) {
    watch.error = error.what();
    throw;
  }
  watch.switches += involuntary_switches() - switches;
  track.seconds_left -= seconds_since(begin) - (cores_.waited_seconds() - waited);
  return sample;
}

// Google Benchmark's compare.py takes entries of one name for repetitions of one benchmark.
std::string Group::benchmark_name(const Track& track) const {
  std::string text = candidates_[track.candidate].id;
  text.append("/").append(name(track.kind)).append("/").append(to_line(problem_));
  if (!options_.circumstances.empty()) text.append(" ").append(options_.circumstances);
  return text;
}

void Group::run_round(BenchmarkDriver& driver) {
  std::vector<Track*> going_on;
  std::vector<BenchmarkSeries> series;
  for (Track& track : tracks_) {
    if (!track.stop_reason.empty()) continue;
    going_on.push_back(&track);
    series.push_back({benchmark_name(track), iterations_of(track),
                      next_round(static_cast<int64_t>(track.seconds.size()), options_, track.seconds_left,
                                 track.sample_cost),
                      [this, &track] { return take(track); }});
  }
  std::vector<double> left_before;
  for (const Track* track : going_on) left_before.push_back(track->seconds_left);
  const auto samples = driver.run_round(series);
  if (lost_) std::rethrow_exception(lost_);
  for (size_t i = 0; i < going_on.size(); ++i) {
    Track& track = *going_on[i];
    const auto iterations = static_cast<double>(iterations_of(track));
    ++track.rounds;
    for (const BenchmarkSample& sample : samples[i]) {
      track.samples.push_back(sample);
      track.seconds.push_back(sample.seconds / iterations);
    }
    if (!samples[i].empty())
      track.sample_cost = (left_before[i] - track.seconds_left) / static_cast<double>(samples[i].size());
    if (!watches_[track.candidate].error.empty())
      track.stop_reason = "failed";
    else
      track.stop_reason =
          stop_reason(track.seconds, options_, track.seconds_left, track.sample_cost).value_or("");
  }
}

// Per sample, so that the kernel's own spread shows: full less the filter preparation and the reorders.
void Group::fill_kernel(const Track& full, Measurement& time) {
  const std::string layout = phase_value(Phase::layout), prepare = phase_value(Phase::prepare);
  Series kernel;
  for (size_t i = 0; i < full.samples.size(); ++i) {
    const auto& values = full.samples[i].values;
    if (!values.contains(layout)) return;
    const double prepared = values.contains(prepare) ? values.at(prepare) : 0;
    kernel.samples.push_back(full.seconds[i] - prepared - values.at(layout));
  }
  if (kernel.samples.empty()) return;
  kernel.statistics = summarise(kernel.samples);
  time.kernel = std::move(kernel);
}

void Group::fill_phases(const Track& track, Measurement& time) {
  fill_kernel(track, time);
  for (Phase phase : kPhases) {
    std::vector<double> seconds;
    for (const BenchmarkSample& sample : track.samples)
      if (auto found = sample.values.find(phase_value(phase)); found != sample.values.end())
        seconds.push_back(found->second);
    if (!seconds.empty()) time.phase_seconds[static_cast<size_t>(phase)] = median(seconds);
  }
}

void Group::fill_health(const Watch& watch, Health& health) {
  health.involuntary_switches = watch.switches;
  if (!watch.watts.empty()) health.power_watts = median(watch.watts);
  if (!watch.celsius.empty())
    health.temperature_celsius = *std::max_element(watch.celsius.begin(), watch.celsius.end());
  for (const std::string& reasons : watch.throttle_reasons)
    health.throttle_reasons += (health.throttle_reasons.empty() ? "" : "; ") + reasons;
}

// Over all samples of a candidate; nothing where none has such a value.
std::optional<double> Group::median_of(size_t candidate, std::string_view value) const {
  std::vector<double> values;
  for (const Track& track : tracks_) {
    if (track.candidate != candidate) continue;
    for (const BenchmarkSample& sample : track.samples)
      if (const auto found = sample.values.find(std::string(value)); found != sample.values.end())
        values.push_back(found->second);
  }
  return values.empty() ? std::nullopt : std::optional(median(std::move(values)));
}

Series Group::series_of(const Track& track) {
  Series series{track.seconds, summarise(track.seconds), {}};
  for (const BenchmarkSample& sample : track.samples)
    if (const auto found = sample.values.find(std::string(kNotHeld)); found != sample.values.end())
      series.not_held = series.not_held.value_or(0) + (found->second != 0 ? 1 : 0);
  return series;
}

MeasureResult Group::result(size_t candidate) const {
  const Watch& watch = watches_[candidate];
  MeasureResult result;
  result.error = watch.error;
  Measurement& time = result.time;
  time.iterations_per_sample = watch.iterations_per_sample;
  time.warmup_runs = watch.warmup_runs;
  time.tensor_copies = copies_.count();
  time.stop_reason = "failed";  // until the track says otherwise: none where the warm-up failed
  for (const Track& track : tracks_) {
    if (track.candidate != candidate) continue;
    Series series = series_of(track);
    result.health.discarded_samples += track.discarded;
    if (track.kind == (options_.phases_apart ? SeriesKind::phases : SeriesKind::full))
      fill_phases(track, time);
    switch (track.kind) {
      case SeriesKind::inference:
        time.inference = std::move(series);
        break;
      case SeriesKind::repeat:
        time.repeat = std::move(series);
        break;
      case SeriesKind::single:
        time.single = std::move(series);
        break;
      case SeriesKind::phases:
        break;
      case SeriesKind::full:
        time.full = std::move(series);
        time.rounds = track.rounds;
        time.stop_reason = track.stop_reason;
        break;
    }
  }
  fill_health(watch, result.health);
  result.health.clock_mhz = median_of(candidate, "clock_mhz");
  result.health.throttled = result.health.clock_mhz && clocks_.is_throttled(*result.health.clock_mhz);
  if (const auto rate = median_of(candidate, kMultiplyAddRate)) {
    const CoreReading usual{*rate, median_of(candidate, kSignal)};
    result.health.core_share = cores_.share(usual);
    result.health.signal_seconds = usual.signal_seconds;
    result.health.throttled = result.health.throttled || cores_.is_slow(usual);
  }
  return result;
}

GroupMeasurement Group::measure() {
  const double load_before = load_average().value_or(0);
  for (int reading = 0; reading < kFirstClockReadings; ++reading)
    if (const auto clock = read_clock(nullptr)) clocks_.add(*clock);
  cores_.wait();
  for (size_t candidate = 0; candidate < candidates_.size(); ++candidate) warm_up(candidate);
  BenchmarkDriver driver(options_.seed);
  const auto goes_on = [](const Track& track) { return track.stop_reason.empty(); };
  while (std::any_of(tracks_.begin(), tracks_.end(), goes_on)) run_round(driver);

  GroupMeasurement group;
  const std::string governor = frequency_governor().value_or("unknown");
  const double load_after = load_average().value_or(0);
  for (size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
    MeasureResult& one = group.results.emplace_back(result(candidate));
    one.health.governor = governor;
    one.health.load_before = load_before;
    one.health.load_after = load_after;
  }
  group.benchmark_json = driver.json();
  return group;
}

}  // namespace

void adapt_to_gpu(MeasureOptions& options) {
  options.batch_below_seconds = 50e-6;
  options.max_iterations = 100;
  options.single_series = true;
  options.phases_apart = true;
  options.clock_mhz = nullptr;
  options.read_cores = nullptr;
}

GroupMeasurement measure_group(const ConvProblem& problem, std::span<const MeasureCandidate> candidates,
                               Device& device, Queue& queue, const MeasureOptions& options,
                               const MeasureObserver& observer) {
  // The clock and the vector units of a core that was idle need a moment; once is enough. No longer than a
  // candidate may take, so that a quick check stays quick.
  static const bool burnt_in = (burn_in(device, std::min(0.2, options.time_limit_seconds)), true);
  static_cast<void>(burnt_in);
  return Group(problem, candidates, device, queue, options, observer).measure();
}

}  // namespace convscope
