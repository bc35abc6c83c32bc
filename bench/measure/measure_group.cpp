#include "bench/measure/measure_group.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/benchmark_driver.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/sample_series.hpp"
#include "bench/measure/sampler.hpp"
#include "bench/measure/statistics.hpp"

namespace convscope {
namespace {

class Group {
 public:
  Group(const ConvProblem& problem, std::span<const MeasureCandidate> candidates, Device& device,
        Queue& queue, const MeasureOptions& options, const MeasureObserver& observer)
      : problem_(problem),
        candidates_(candidates),
        options_(options),
        observer_(observer),
        sampler_(problem, device, queue, options),
        warm_ups_(candidates.size()),
        failures_(candidates.size()) {}

  GroupMeasurement measure();

 private:
  void warm_up(size_t candidate);
  void add_series(size_t candidate, double seconds_left);
  void run_round(BenchmarkDriver& driver);
  std::string benchmark_name(const SampleSeries& series) const;
  Sample take(SampleSeries& series);
  MeasureResult result(size_t candidate);
  const std::string& other_programs();

  const ConvProblem& problem_;
  std::span<const MeasureCandidate> candidates_;
  const MeasureOptions& options_;
  const MeasureObserver& observer_;
  Sampler sampler_;
  std::vector<SampleSeries> series_;
  std::vector<WarmUp> warm_ups_;              // by candidate
  std::vector<std::exception_ptr> failures_;  // by candidate; null where it has not failed
  std::exception_ptr lost_;                   // the DeviceLost that ended the group
  std::optional<std::string> other_programs_;
};

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void Group::warm_up(size_t candidate) {
  if (observer_) observer_(candidate);
  const auto begin = Clock::now();
  try {
    warm_ups_[candidate] = sampler_.warm_up(candidates_[candidate]);
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception&) {
    failures_[candidate] = std::current_exception();
    return;
  }
  add_series(candidate, options_.sampling.time_limit_seconds - seconds_since(begin));
}

// The series share what is left of the candidate's time.
void Group::add_series(size_t candidate, double seconds_left) {
  const WarmUp& warm_up = warm_ups_[candidate];
  const int64_t batch = warm_up.iterations;
  std::vector<SeriesKind> kinds{SeriesKind::full};
  if (candidates_[candidate].plan->has_prepare()) kinds.push_back(SeriesKind::inference);
  if (options_.sampling.repeat) kinds.push_back(SeriesKind::repeat);
  if (options_.single_series && batch > 1) kinds.push_back(SeriesKind::single);
  if (options_.phases_apart && warm_up.has_phases) kinds.push_back(SeriesKind::phases);
  for (SeriesKind kind : kinds) {
    SampleSeries& series = series_.emplace_back();
    series.candidate = candidate;
    series.kind = kind;
    series.iterations = kind == SeriesKind::single ? 1 : batch;
    series.seconds_left = seconds_left / static_cast<double>(kinds.size());
    series.sample_cost = sampler_.sample_seconds(warm_up, series.iterations);
  }
}

// Takes a throttled or disturbed sample again, but in all no more often than min_samples times a series and
// while it has time: a machine that stays slow or busy ends with samples all the same, and with a mark.
Sample Group::take(SampleSeries& series) {
  if (lost_) std::rethrow_exception(lost_);  // the driver goes on to the next series
  if (observer_) observer_(series.candidate);
  const auto begin = Clock::now();
  const double waited = sampler_.waited_seconds();
  const auto may_discard = [&] {
    return static_cast<int64_t>(series.discarded.size()) < options_.sampling.min_samples &&
           seconds_since(begin) < series.seconds_left;
  };
  Sample sample;
  try {
    const MeasureCandidate& candidate = candidates_[series.candidate];
    sample = sampler_.take(candidate, series.kind, series.iterations);
    while ((sample.throttled || sample.is_disturbed()) && may_discard()) {
      series.discarded.push_back(sample);
      sample = sampler_.take(candidate, series.kind, series.iterations);
    }
  } catch (const DeviceLost&) {
    lost_ = std::current_exception();
    throw;
  } catch (const std::exception&) {
    failures_[series.candidate] = std::current_exception();
    throw;
  }
  sample.at_seconds = seconds_since_1970();
  series.seconds_left -= seconds_since(begin) - (sampler_.waited_seconds() - waited);
  return sample;
}

// Google Benchmark's compare.py takes entries of one name for repetitions of one benchmark.
std::string Group::benchmark_name(const SampleSeries& series) const {
  std::string text = candidates_[series.candidate].id;
  text.append("/").append(name(series.kind)).append("/").append(to_line(problem_));
  if (!options_.circumstances.empty()) text.append(" ").append(options_.circumstances);
  return text;
}

void Group::run_round(BenchmarkDriver& driver) {
  std::vector<SampleSeries*> going_on;
  std::vector<BenchmarkSeries> round;
  std::vector<double> left_before;
  for (SampleSeries& series : series_) {
    if (!series.goes_on()) continue;
    going_on.push_back(&series);
    left_before.push_back(series.seconds_left);
    round.push_back({benchmark_name(series), series.iterations,
                     next_round(static_cast<int64_t>(series.samples.size()), options_.sampling,
                                series.seconds_left, series.sample_cost),
                     [this, &series] { return take(series); }});
  }
  const auto taken = driver.run_round(round);
  if (lost_) std::rethrow_exception(lost_);
  for (size_t i = 0; i < going_on.size(); ++i) {
    SampleSeries& series = *going_on[i];
    ++series.rounds;
    series.samples.insert(series.samples.end(), taken[i].begin(), taken[i].end());
    if (!taken[i].empty())
      series.sample_cost = (left_before[i] - series.seconds_left) / static_cast<double>(taken[i].size());
    if (failures_[series.candidate])
      series.stop_reason = "failed";
    else
      series.stop_reason =
          stop_reason(seconds_of(series.samples), options_.sampling, series.seconds_left, series.sample_cost)
              .value_or("");
  }
}

MeasureResult Group::result(size_t candidate) {
  MeasureResult result;
  result.failure = failures_[candidate];
  result.time = measurement_of(series_, candidate);
  result.time.warmup_runs = warm_ups_[candidate].runs;
  result.time.tensor_copies = sampler_.tensor_copies();
  result.time.protocol = kProtocol;
  result.health =
      health_of(series_, candidate, sampler_.clocks(), sampler_.cores(), [this] { return other_programs(); });
  return result;
}

// As they are when the first candidate wants to know: looking takes a while.
const std::string& Group::other_programs() {
  if (!other_programs_) other_programs_ = text(options_.other_programs());
  return *other_programs_;
}

GroupMeasurement Group::measure() {
  const double load_before = load_average().value_or(0);
  sampler_.read_usual_state();
  for (size_t candidate = 0; candidate < candidates_.size(); ++candidate) warm_up(candidate);
  BenchmarkDriver driver(options_.seed);
  while (std::any_of(series_.begin(), series_.end(), [](const auto& series) { return series.goes_on(); }))
    run_round(driver);

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
  options.read_threads = nullptr;
  options.evict = nullptr;
}

GroupMeasurement measure_group(const ConvProblem& problem, std::span<const MeasureCandidate> candidates,
                               Device& device, Queue& queue, const MeasureOptions& options,
                               const MeasureObserver& observer) {
  // The clock and the vector units of a core that was idle need a moment, and so does a GPU; once is enough.
  // No longer than a candidate may take, so that a quick check stays quick.
  static std::set<std::string> burnt_in;
  if (burnt_in.insert(name(device.info().id())).second)
    burn_in(device, std::min(kBurnInSeconds, options.sampling.time_limit_seconds));
  return Group(problem, candidates, device, queue, options, observer).measure();
}

}  // namespace convscope
