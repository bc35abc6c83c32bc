#include "bench/measure/benchmark_driver.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <exception>
#include <sstream>
#include <utility>

#include "bench/core/random.hpp"

namespace convscope {

class BenchmarkDriver::Reporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    round_.clear();
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      // Skipped runs carry no counters; aggregates are ours to compute, over all rounds.
      if (run.run_type != Run::RT_Iteration || !run.counters.contains("order")) continue;
      const std::string name = run.run_name.function_name;
      BenchmarkSample sample{run.real_accumulated_time, {}};
      for (const auto& [key, counter] : run.counters) sample.values[key] = counter.value;
      round_[name].push_back(sample);

      // Without iteration and repetition counts the name is the same in every round and on every machine. All
      // entries of one name are repetitions of one benchmark, as the library numbers them.
      Run renamed = run;
      renamed.family_index = family_.try_emplace(name, static_cast<int64_t>(family_.size())).first->second;
      renamed.per_family_instance_index = 0;
      renamed.run_name.iterations.clear();
      renamed.run_name.repetitions.clear();
      renamed.run_name.time_type.clear();
      renamed.repetition_index = taken_[name]++;
      all_.push_back(std::move(renamed));
    }
  }

  const std::map<std::string, std::vector<BenchmarkSample>>& round() const { return round_; }

  std::string json() const {
    std::vector<Run> runs = all_;
    for (Run& run : runs) run.repetitions = taken_.at(run.run_name.function_name);
    std::ostringstream text;
    benchmark::JSONReporter writer;
    writer.SetOutputStream(&text);
    writer.ReportContext(Context());
    writer.ReportRuns(runs);
    writer.Finalize();
    return text.str();
  }

 private:
  std::map<std::string, std::vector<BenchmarkSample>> round_;
  std::map<std::string, int64_t> taken_;
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
  for (size_t left = entries.size(); left > 1; --left) {
    const int64_t drawn = random_below(seed_, draws_++, static_cast<int64_t>(left));
    std::swap(entries[left - 1], entries[static_cast<size_t>(drawn)]);
  }
  return entries;
}

std::vector<std::vector<BenchmarkSample>> BenchmarkDriver::run_round(
    const std::vector<BenchmarkSeries>& series) {
  benchmark::ClearRegisteredBenchmarks();
  std::vector<std::string> failures(series.size());
  for (const size_t index : shuffled_entries(series)) {
    const BenchmarkSeries& one = series[index];
    std::string& failure = failures[index];
    const auto run = [&one, &failure, this](benchmark::State& state) {
      while (state.KeepRunningBatch(one.iterations)) {
        try {
          if (failure.empty()) {
            const BenchmarkSample sample = one.take();
            state.SetIterationTime(sample.seconds);
            for (const auto& [key, value] : sample.values) state.counters[key] = value;
            state.counters["order"] = static_cast<double>(order_++);
            continue;
          }
        } catch (const std::exception& error) {
          failure = std::string("failed: ") + error.what();
        }
        state.SkipWithError(failure.c_str());
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

  std::vector<std::vector<BenchmarkSample>> samples;
  for (const BenchmarkSeries& one : series) {
    const auto found = reporter_->round().find(one.name);
    samples.push_back(found == reporter_->round().end() ? std::vector<BenchmarkSample>{} : found->second);
  }
  return samples;
}

std::string BenchmarkDriver::json() const {
  return reporter_->json();
}

}  // namespace convscope
