#include "bench/measure/benchmark_driver.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "bench/core/random.hpp"

namespace convscope {

namespace {

void add_counters(const Sample& sample, benchmark::UserCounters& counters) {
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) counters[name] = *value;
  };
  add("clock_mhz", sample.state.clock_mhz);
  if (sample.cores) {
    add("multiply_add_rate", sample.cores->multiply_add_rate);
    add("signal_seconds", sample.cores->core_to_core_latency_seconds);
  }
  if (sample.lost) add("lost_share", sample.lost->share());
  if (sample.held) add("not_held", *sample.held ? 0 : 1);
  for (Phase phase : kPhases)
    add("phase_" + std::string(name(phase)) + "_seconds", sample.phase_seconds[static_cast<size_t>(phase)]);
}

}  // namespace

// The library reports each repetition right after it ran: expect() says which sample that was.
class BenchmarkDriver::Reporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void expect(const Sample& sample) { taken_ = sample; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      // Aggregates are ours to compute, over all rounds; a run that was skipped has no sample.
      if (run.run_type != Run::RT_Iteration || !taken_) continue;
      all_.push_back(named(run));
      Run& reported = all_.back();
      reported.real_accumulated_time = taken_->seconds * static_cast<double>(run.iterations);
      add_counters(*taken_, reported.counters);
      reported.counters["order"] = static_cast<double>(all_.size() - 1);
    }
    taken_.reset();
  }

  std::string json() const {
    std::vector<Run> runs = all_;
    for (Run& run : runs) run.repetitions = repetitions_.at(run.run_name.function_name);
    std::ostringstream text;
    benchmark::JSONReporter writer;
    writer.SetOutputStream(&text);
    writer.ReportContext(Context());
    writer.ReportRuns(runs);
    writer.Finalize();
    return text.str();
  }

 private:
  // Without iteration and repetition counts the name is the same in every round and on every machine. All
  // entries of one name are repetitions of one benchmark, as the library numbers them.
  Run named(const Run& run) {
    const std::string name = run.run_name.function_name;
    Run renamed = run;
    renamed.family_index = family_.try_emplace(name, static_cast<int64_t>(family_.size())).first->second;
    renamed.per_family_instance_index = 0;
    renamed.run_name.iterations.clear();
    renamed.run_name.repetitions.clear();
    renamed.run_name.time_type.clear();
    renamed.repetition_index = repetitions_[name]++;
    return renamed;
  }

  std::optional<Sample> taken_;  // by the run that is reported next
  std::map<std::string, int64_t> repetitions_;
  std::map<std::string, int64_t> family_;
  std::vector<Run> all_;
};

namespace {

// Said in full, since the library takes what is left out from environment variables.
void initialise_library() {
  std::array<std::string, 7> flags{"",
                                   "--benchmark_enable_random_interleaving=false",
                                   "--benchmark_filter=.",
                                   "--benchmark_list_tests=false",
                                   "--benchmark_min_warmup_time=0",
                                   "--benchmark_out=",
                                   "--benchmark_perf_counters="};
  std::array<char*, 8> argv{};
  for (size_t i = 0; i < flags.size(); ++i) argv[i] = flags[i].data();
  static char program[] = "convscope";  // the library keeps this pointer for its report
  argv[0] = program;
  int argc = static_cast<int>(flags.size());
  benchmark::Initialize(&argc, argv.data());
}

}  // namespace

BenchmarkDriver::BenchmarkDriver(uint64_t seed) : reporter_(std::make_unique<Reporter>()), seed_(seed) {
  initialise_library();
}

BenchmarkDriver::~BenchmarkDriver() = default;

// Each series' index as often as it has repetitions, shuffled (Fisher and Yates).
std::vector<size_t> BenchmarkDriver::shuffled_entries(const std::vector<BenchmarkSeries>& series) {
  std::vector<size_t> entries;
  for (size_t i = 0; i < series.size(); ++i)
    entries.insert(entries.end(), static_cast<size_t>(series[i].repetitions), i);
  shuffle(entries, seed_, draws_);
  return entries;
}

std::vector<std::vector<Sample>> BenchmarkDriver::run_round(const std::vector<BenchmarkSeries>& series) {
  benchmark::ClearRegisteredBenchmarks();
  std::vector<std::vector<Sample>> samples(series.size());
  std::vector<bool> has_failed(series.size());
  for (const size_t index : shuffled_entries(series)) {
    const BenchmarkSeries& one = series[index];
    const auto run = [&, index](benchmark::State& state) {
      while (state.KeepRunningBatch(one.iterations)) {
        if (!has_failed[index]) try {
            const Sample& sample = samples[index].emplace_back(one.take());
            state.SetIterationTime(sample.seconds * static_cast<double>(one.iterations));
            reporter_->expect(sample);
            continue;
          } catch (const std::exception&) {
            has_failed[index] = true;
          }
        state.SkipWithError("failed");
      }
    };
    benchmark::RegisterBenchmark(one.name.c_str(), run)
        ->Iterations(one.iterations)
        ->Repetitions(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks(reporter_.get());
  benchmark::ClearRegisteredBenchmarks();
  return samples;
}

std::string BenchmarkDriver::json() const {
  return reporter_->json();
}

}  // namespace convscope
