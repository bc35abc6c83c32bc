#include "bench/measure/measure_group.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

#include "bench/device/device_error.hpp"
#include "bench/measure/benchmark_driver.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/health.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/stop_rule.hpp"
#include "bench/measure/tensor_copies.hpp"

namespace convscope {
namespace {

using Clock = std::chrono::steady_clock;

// A clock below this share of the fastest seen in the group marks the row as throttled.
constexpr double kThrottledClock = 0.75;
// However short a run: so many iterations a sample at most.
constexpr double kMostIterations = 1e6;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

enum class SeriesKind { full, inference, repeat };

std::string_view name(SeriesKind kind) {
  return kind == SeriesKind::full ? "full" : kind == SeriesKind::inference ? "inference" : "repeat";
}

// One series of one candidate while it is being taken.
struct Track {
  size_t candidate;
  SeriesKind kind;
  double seconds_left;
  double sample_cost = 0;  // wall seconds of one sample, untimed parts included
  MeasureOptions limits;
  int64_t rounds = 0;
  std::vector<BenchmarkSample> samples;
  std::vector<double> seconds;  // per run
  std::string stop_reason;      // empty while it goes on
};

// What a candidate's runs showed besides their times.
struct Watch {
  int64_t warmup_runs = 0;
  int64_t iterations_per_sample = 1;
  double switches = 0;
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
        queue_(queue),
        options_(options),
        observer_(observer),
        copies_(problem, device, options.cache, options.seed),
        watches_(candidates.size()) {}

  GroupMeasurement measure();

 private:
  void warm_up(size_t candidate);
  void add_tracks(size_t candidate, double seconds_left, double run_seconds);
  void run_round(BenchmarkDriver& driver);
  BenchmarkSample take(Track& track);
  Timing run_full(const MeasureCandidate& candidate, int64_t iterations);
  Timing run_inference(const MeasureCandidate& candidate, int64_t iterations);
  MeasureResult result(size_t candidate) const;
  void fill_kernel(const Track& full, Measurement& time) const;
  double fastest_clock() const;

  const ConvProblem& problem_;
  std::span<const MeasureCandidate> candidates_;
  Queue& queue_;
  const MeasureOptions& options_;
  const MeasureObserver& observer_;
  TensorCopies copies_;
  std::vector<Watch> watches_;
  std::vector<Track> tracks_;
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

// At least warmup_runs and warmup_seconds, unless that would take more than half of the limit. The last run
// is the pilot that sizes the samples.
void Group::warm_up(size_t candidate) {
  if (observer_) observer_(candidate);
  Watch& watch = watches_[candidate];
  const auto begin = Clock::now();
  double run_seconds = 0;
  try {
    do {
      run_seconds = run_full(candidates_[candidate], 1).seconds;
      ++watch.warmup_runs;
    } while ((watch.warmup_runs < options_.warmup_runs || seconds_since(begin) < options_.warmup_seconds) &&
             seconds_since(begin) + run_seconds <= options_.time_limit_seconds / 2);
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    watch.error = error.what();
    return;
  }
  const double iterations = std::ceil(options_.min_sample_seconds / std::max(run_seconds, 1e-9));
  watch.iterations_per_sample = static_cast<int64_t>(std::clamp(iterations, 1.0, kMostIterations));
  add_tracks(candidate, options_.time_limit_seconds - seconds_since(begin), run_seconds);
}

// The series share what is left of the candidate's time.
void Group::add_tracks(size_t candidate, double seconds_left, double run_seconds) {
  std::vector<SeriesKind> kinds{SeriesKind::full};
  if (candidates_[candidate].plan->has_prepare()) kinds.push_back(SeriesKind::inference);
  if (options_.repeat) kinds.push_back(SeriesKind::repeat);
  for (SeriesKind kind : kinds) {
    Track& track = tracks_.emplace_back();
    track.candidate = candidate;
    track.kind = kind;
    track.limits = options_;
    if (kind == SeriesKind::inference) {  // the lesser figure: half the samples
      track.limits.min_samples = (options_.min_samples + 1) / 2;
      track.limits.max_samples = (options_.max_samples + 1) / 2;
    }
    track.seconds_left = seconds_left / static_cast<double>(kinds.size());
    track.sample_cost = run_seconds * static_cast<double>(watches_[candidate].iterations_per_sample);
  }
}

BenchmarkSample Group::take(Track& track) {
  if (lost_) std::rethrow_exception(lost_);  // the driver goes on to the next series
  Watch& watch = watches_[track.candidate];
  const MeasureCandidate& candidate = candidates_[track.candidate];
  if (observer_) observer_(track.candidate);
  const auto begin = Clock::now();
  const double switches = involuntary_switches();
  BenchmarkSample sample;
  sample.values["clock_mhz"] = measured_clock_mhz();
  try {
    const int64_t iterations = watch.iterations_per_sample;
    const Timing timing = track.kind == SeriesKind::inference ? run_inference(candidate, iterations)
                                                              : run_full(candidate, iterations);
    sample.seconds = timing.seconds;
    for (Phase phase : kPhases)
      if (const auto& seconds = timing.phase_seconds[static_cast<size_t>(phase)])
        sample.values[phase_value(phase)] = *seconds / static_cast<double>(iterations);
  } catch (const DeviceLost&) {
    lost_ = std::current_exception();
    throw;
  } catch (const std::exception& error) {
    watch.error = error.what();
    throw;
  }
  watch.switches += involuntary_switches() - switches;
  track.seconds_left -= seconds_since(begin);
  return sample;
}

void Group::run_round(BenchmarkDriver& driver) {
  std::vector<Track*> going_on;
  std::vector<BenchmarkSeries> series;
  for (Track& track : tracks_) {
    if (!track.stop_reason.empty()) continue;
    going_on.push_back(&track);
    series.push_back(
        {candidates_[track.candidate].id + "/" + std::string(name(track.kind)) + "/" + to_line(problem_),
         watches_[track.candidate].iterations_per_sample,
         next_round(static_cast<int64_t>(track.seconds.size()), track.limits, track.seconds_left,
                    track.sample_cost),
         [this, &track] { return take(track); }});
  }
  std::vector<double> left_before;
  for (const Track* track : going_on) left_before.push_back(track->seconds_left);
  const auto samples = driver.run_round(series);
  if (lost_) std::rethrow_exception(lost_);
  for (size_t i = 0; i < going_on.size(); ++i) {
    Track& track = *going_on[i];
    const auto iterations = static_cast<double>(watches_[track.candidate].iterations_per_sample);
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
          stop_reason(track.seconds, track.limits, track.seconds_left, track.sample_cost).value_or("");
  }
}

double Group::fastest_clock() const {
  double fastest = 0;
  for (const Track& track : tracks_)
    for (const BenchmarkSample& sample : track.samples)
      fastest = std::max(fastest, sample.values.at("clock_mhz"));
  return fastest;
}

// Per sample, so that the kernel's own spread shows: full less the filter preparation and the reorders.
void Group::fill_kernel(const Track& full, Measurement& time) const {
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

MeasureResult Group::result(size_t candidate) const {
  const Watch& watch = watches_[candidate];
  MeasureResult result;
  result.error = watch.error;
  result.health.involuntary_switches = watch.switches;
  Measurement& time = result.time;
  time.iterations_per_sample = watch.iterations_per_sample;
  time.warmup_runs = watch.warmup_runs;
  time.tensor_copies = copies_.count();
  time.stop_reason = "failed";  // until the track says otherwise: none where the warm-up failed
  std::vector<double> clocks;
  for (const Track& track : tracks_) {
    if (track.candidate != candidate) continue;
    Series series{track.seconds, summarise(track.seconds)};
    for (const BenchmarkSample& sample : track.samples) clocks.push_back(sample.values.at("clock_mhz"));
    if (track.kind == SeriesKind::inference) time.inference = std::move(series);
    if (track.kind == SeriesKind::repeat) time.repeat = std::move(series);
    if (track.kind != SeriesKind::full) continue;
    time.full = std::move(series);
    time.rounds = track.rounds;
    time.stop_reason = track.stop_reason;
    fill_kernel(track, time);
    for (Phase phase : kPhases) {
      std::vector<double> seconds;
      for (const BenchmarkSample& sample : track.samples)
        if (auto found = sample.values.find(phase_value(phase)); found != sample.values.end())
          seconds.push_back(found->second);
      if (!seconds.empty()) time.phase_seconds[static_cast<size_t>(phase)] = median(seconds);
    }
  }
  if (!clocks.empty()) {
    result.health.clock_mhz = median(clocks);
    result.health.throttled = *result.health.clock_mhz < kThrottledClock * fastest_clock();
  }
  return result;
}

GroupMeasurement Group::measure() {
  const double load_before = load_average();
  for (size_t candidate = 0; candidate < candidates_.size(); ++candidate) warm_up(candidate);
  BenchmarkDriver driver;
  const auto goes_on = [](const Track& track) { return track.stop_reason.empty(); };
  while (std::any_of(tracks_.begin(), tracks_.end(), goes_on)) run_round(driver);

  GroupMeasurement group;
  const std::string governor = frequency_governor();
  const double load_after = load_average();
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

GroupMeasurement measure_group(const ConvProblem& problem, std::span<const MeasureCandidate> candidates,
                               Device& device, Queue& queue, const MeasureOptions& options,
                               const MeasureObserver& observer) {
  // The clock and the vector units of a core that was idle need a moment; once is enough.
  static const bool burnt_in = (burn_in(device, 0.2), true);
  static_cast<void>(burnt_in);
  return Group(problem, candidates, device, queue, options, observer).measure();
}

}  // namespace convscope
