// Measured with a clock of its own: plans say how long they take, so that every number is known.
#include "bench/measure/measure_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "bench/measure/health.hpp"
#include "bench/measure/scripted_plan.hpp"

namespace convscope {
namespace {

using nlohmann::json;
using testing::Bench;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::ScriptedPlan;
using testing::ScriptedQueue;

TEST(MeasureGroup, StopsAtTheFewestSamplesWhenTimesAreEqual) {
  Bench bench;
  ScriptedPlan plan;
  const MeasureResult result = bench.measure({&plan}).results.at(0);
  EXPECT_EQ(result.time.stop_reason, "converged");
  EXPECT_EQ(result.time.full.samples, std::vector<double>(10, 1.0 / 256));
  EXPECT_EQ(result.time.full.statistics.median, 1.0 / 256);
  EXPECT_EQ(result.time.warmup_runs, 3);
  EXPECT_EQ(result.time.rounds, 1);
  EXPECT_EQ(result.time.iterations_per_sample, 1);
  EXPECT_EQ(plan.runs, 13);
  EXPECT_EQ(result.time.inference, std::nullopt);
  EXPECT_EQ(result.time.kernel, std::nullopt);
  EXPECT_EQ(result.time.repeat, std::nullopt);
  EXPECT_EQ(result.failure, nullptr);
}

TEST(MeasureGroup, TakesTheThreeTotalsApart) {
  Bench bench;
  ScriptedPlan plan;
  plan.preparing = 1.0 / 512;
  plan.layout = 1.0 / 1024;
  const Measurement time = bench.measure({&plan}).results.at(0).time;
  EXPECT_THAT(time.full.samples, Each(1.0 / 256 + 1.0 / 512 + 1.0 / 1024));
  ASSERT_TRUE(time.inference && time.kernel);
  EXPECT_THAT(time.inference->samples, Each(1.0 / 256 + 1.0 / 1024));
  EXPECT_EQ(time.inference->samples.size(), 10);
  EXPECT_THAT(time.kernel->samples, Each(1.0 / 256));
  EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::prepare)], 1.0 / 512);
  EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::layout)], 1.0 / 1024);
  EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::product)], std::nullopt);
  EXPECT_EQ(plan.prepares, 3 + 10);
}

TEST(MeasureGroup, BatchesShortRuns) {
  Bench bench;
  ScriptedPlan plan;
  plan.product = 0x1p-17;  // 7.6 us; 131.07 of them make a millisecond
  const Measurement time = bench.measure({&plan}).results.at(0).time;
  EXPECT_EQ(time.iterations_per_sample, 132);
  EXPECT_EQ(plan.runs, 3 + 10 * 132);
  EXPECT_THAT(time.full.samples, Each(0x1p-17));
}

TEST(MeasureGroup, BatchesShortRunsOfWhichOneOfTheWarmUpWasHeldUp) {
  for (int stalled : {1, 2, 3}) {
    Bench bench;
    ScriptedPlan plan;
    plan.product = 0x1p-17;
    plan.stalls_at = stalled;
    EXPECT_EQ(bench.measure({&plan}).results.at(0).time.iterations_per_sample, 132) << stalled;
  }
}

TEST(MeasureGroup, RotatesCopiesAsTheCacheStateSays) {
  for (CacheState cache : kCacheStates) {
    Bench bench;
    bench.problem = parse_problem("n=1 c=64 hw=128 k=64 rs=1x1");  // 4 MiB a tensor
    bench.options.cache = cache;
    bench.options.sampling.min_samples = 3;
    ScriptedPlan plan;
    plan.product = 0x1p-13;  // nine iterations a sample
    const Measurement time = bench.measure({&plan}).results.at(0).time;
    const auto copies = static_cast<size_t>(time.tensor_copies);
    const size_t seen = std::min<size_t>(copies, static_cast<size_t>(plan.runs));
    EXPECT_EQ(copies > 1, cache != CacheState::hot) << name(cache);
    EXPECT_EQ(plan.filters.size(), seen) << name(cache);
    EXPECT_EQ(plan.inputs.size(), cache == CacheState::cold ? seen : 1) << name(cache);
    EXPECT_EQ(plan.outputs.size(), cache == CacheState::cold ? seen : 1) << name(cache);
  }
}

TEST(MeasureGroup, EvictsWhatMustBeColdAfterEachRunTheClockStopped) {
  for (CacheState cache : kCacheStates) {
    Bench bench;
    bench.problem = parse_problem("n=1 c=64 hw=128 k=64 rs=1x1");  // 4 MiB a tensor
    bench.options.cache = cache;
    ScriptedPlan plan;
    plan.product = 0x1p-13;  // nine iterations a sample
    plan.preparing = 0x1p-14;
    int evictions = 0;
    bench.options.evict = [&](std::span<const std::span<const std::byte>> memory) {
      ++evictions;
      EXPECT_EQ(std::ranges::count(plan.calls, ' '), evictions) << "one after each, timed or not";
      bench.queue.pass(1);  // seen in the samples, if they held it
      const ConvProblem& of = bench.problem;
      std::vector<std::pair<const void*, int64_t>> expected{{bench.workspace.data(), bench.workspace.bytes()},
                                                            {plan.last.filter, of.bytes(Role::filter)}};
      if (cache == CacheState::cold) {
        expected.emplace_back(plan.last.input, of.bytes(Role::input));
        expected.emplace_back(plan.last.output, of.bytes(Role::output));
      }
      std::vector<std::pair<const void*, int64_t>> evicted;
      for (const auto& range : memory) evicted.emplace_back(range.data(), range.size());
      EXPECT_THAT(evicted, ::testing::UnorderedElementsAreArray(expected));
    };
    const Measurement time = bench.measure({&plan}).results.at(0).time;
    EXPECT_EQ(evictions, cache == CacheState::hot ? 0 : std::ranges::count(plan.calls, ' ')) << name(cache);
    EXPECT_THAT(time.full.samples, Each(0x1p-13 + 0x1p-14)) << name(cache);
    EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::prepare)], 0x1p-14) << name(cache);
    EXPECT_EQ(time.protocol, kProtocol);
  }
}

TEST(MeasureOptions, EvictOnCpusButHotTensorsAndRunUntimedWhereCachesMayHoldAnothersLines) {
  for (CacheState cache : kCacheStates) {
    MeasureOptions cpu, gpu;
    cpu.cache = gpu.cache = cache;
    adapt_to_gpu(gpu);
    EXPECT_EQ(evicts(cpu), kEvictsRanges && cache != CacheState::hot) << name(cache);
    EXPECT_EQ(runs_untimed(cpu), !kEvictsRanges || cache != CacheState::cold) << name(cache);
    EXPECT_FALSE(evicts(gpu)) << name(cache);
    EXPECT_TRUE(runs_untimed(gpu)) << name(cache);
  }
}

TEST(MeasureGroup, RunsUntimedRightBeforeEachSampleWhereAnotherCandidateWouldBeSeenInTheCaches) {
  for (CacheState cache : kCacheStates)
    for (const bool evicts : {true, false}) {
      Bench bench;
      bench.problem = parse_problem("n=1 c=64 hw=128 k=64 rs=1x1");  // 4 MiB a tensor
      bench.options.cache = cache;
      bench.options.evict = nullptr;
      if (evicts) bench.options.evict = [](auto) {};
      ScriptedPlan plan;
      plan.preparing = 1.0 / 512;
      const Measurement time = bench.measure({&plan}).results.at(0).time;
      const bool untimed = !evicts || cache != CacheState::cold;
      EXPECT_THAT(plan.calls,
                  ::testing::MatchesRegex(untimed ? "pr pr pr ((PR pr )|(R r ))*" : "pr pr pr ((pr )|(r ))*"))
          << name(cache);
      EXPECT_EQ(plan.runs, 3 + time.full.samples.size() + time.inference->samples.size());
    }
}

TEST(MeasureGroup, InterleavesCandidatesTellsTheObserverAndRecordsWhenSamplesEnded) {
  Bench bench;
  ScriptedPlan a, b, c;
  std::vector<size_t> visits, order;
  const GroupMeasurement group = bench.measure({&a, &b, &c}, [&](size_t candidate) {
    visits.push_back(candidate);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  ASSERT_EQ(visits.size(), 3 + 30);
  EXPECT_THAT(std::vector<size_t>(visits.begin(), visits.begin() + 3), ::testing::ElementsAre(0, 1, 2));
  int changes = 0;
  for (size_t i = 4; i < visits.size(); ++i) changes += visits[i] != visits[i - 1];
  EXPECT_GT(changes, 5);  // 2 in blocks, about 19 at random
  std::map<double, size_t> at;
  for (size_t one : {0, 1, 2})
    for (double seconds : group.results[one].time.full.at_seconds) at[seconds] = one;
  for (const auto& [seconds, candidate] : at) order.push_back(candidate);
  EXPECT_EQ(order, std::vector<size_t>(visits.begin() + 3, visits.end()));
}

// The candidates in the order that the round visits them.
std::vector<size_t> visits_of(uint64_t seed) {
  Bench bench;
  bench.options.seed = seed;
  ScriptedPlan a, b, c;
  std::vector<size_t> visits;
  bench.measure({&a, &b, &c}, [&](size_t candidate) { visits.push_back(candidate); });
  return visits;
}

TEST(MeasureGroup, InterleavesAsTheSeedSays) {
  EXPECT_EQ(visits_of(7), visits_of(7));
  EXPECT_NE(visits_of(7), visits_of(8));
}

TEST(MeasureGroup, WarmsUpWithOneRunLessWhereRunsAreLong) {
  Bench bench;
  ScriptedPlan brief, slow;
  slow.product = 1.0 / 16;
  const auto results = bench.measure({&brief, &slow}).results;
  EXPECT_EQ(results[0].time.warmup_runs, 3);
  EXPECT_EQ(results[1].time.warmup_runs, 2);
}

// A clock at 3 GHz except for the readings from `first` up to `end`, counted from 0.
std::function<double()> clock_that_drops(int first, int end, double low = 1500) {
  return [=, reading = 0]() mutable {
    const bool dropped = reading >= first && reading < end;
    ++reading;
    return dropped ? low : 3000.0;
  };
}

TEST(MeasureGroup, TakesThrottledSamplesAgain) {
  Bench bench;
  bench.options.clock_mhz = clock_that_drops(17, 20);
  ScriptedPlan plan;
  const MeasureResult result = bench.measure({&plan}).results.at(0);
  EXPECT_EQ(result.health.discarded_samples, 3);
  EXPECT_FALSE(result.health.throttled);
  EXPECT_EQ(result.time.full.samples.size(), 10);
  EXPECT_EQ(plan.runs, 3 + 10 + 3);
}

TEST(MeasureGroup, EndsOnADeviceThatStaysThrottledAndMarksTheRow) {
  Bench bench;
  bench.options.clock_mhz = clock_that_drops(15, 1'000'000);
  bench.options.sampling.max_samples = 10;
  bench.options.sampling.min_samples = 3;  // so that the low readings do not become the usual ones
  ScriptedPlan plan;
  const MeasureResult result = bench.measure({&plan}).results.at(0);
  EXPECT_EQ(result.health.discarded_samples, 3);
  EXPECT_TRUE(result.health.throttled);
  EXPECT_GE(result.time.full.samples.size(), 6);
}

TEST(MeasureGroup, MarksNobodyBecauseOfOneBoostedReading) {
  Bench bench;
  bench.options.clock_mhz = clock_that_drops(18, 19, 4500);
  ScriptedPlan a, b;
  for (const MeasureResult& result : bench.measure({&a, &b}).results) {
    EXPECT_FALSE(result.health.throttled);
    EXPECT_EQ(result.health.discarded_samples, 0);
  }
}

constexpr CoreReading kGoodCores{1e11, 25e-9}, kSharedCore{5e10, 25e-9}, kFarCores{1e11, 160e-9};

// Good cores except for the readings from `first` up to `end`, counted from 0. One reading comes before the
// first sample, then one before and one after each.
std::function<CoreReading()> cores_that_turn(CoreReading bad, int first, int end) {
  return [=, reading = 0]() mutable {
    const bool turned = reading >= first && reading < end;
    ++reading;
    return turned ? bad : kGoodCores;
  };
}

TEST(MeasureGroup, TakesSamplesOnBadlyPlacedThreadsAgain) {
  for (const CoreReading& bad : {kSharedCore, kFarCores}) {
    Bench bench;
    bench.options.core_patience_seconds = 0;
    bench.options.read_cores = cores_that_turn(bad, 4, 7);  // after the second sample, around the third
    ScriptedPlan plan;
    const MeasureResult result = bench.measure({&plan}).results.at(0);
    EXPECT_EQ(result.health.discarded_samples, 2);
    EXPECT_EQ(result.health.core_share, 1);
    EXPECT_EQ(result.health.core_to_core_latency_seconds, 25e-9);
    EXPECT_FALSE(result.health.throttled);
    EXPECT_EQ(result.time.full.samples.size(), 10);
    EXPECT_EQ(plan.runs, 3 + 10 + 2);
  }
}

TEST(MeasureGroup, WaitsForBetterPlacedThreadsRatherThanDiscard) {
  Bench bench;
  bench.options.core_patience_seconds = 1000;
  bench.options.read_cores = cores_that_turn(kSharedCore, 3, 7);  // before the second sample
  ScriptedPlan plan;
  const MeasureResult result = bench.measure({&plan}).results.at(0);
  EXPECT_EQ(result.health.discarded_samples, 0);
  EXPECT_EQ(result.health.core_share, 1);
  EXPECT_EQ(plan.runs, 3 + 10);
}

TEST(MeasureGroup, MarksTheRowWhoseThreadsStayBadlyPlaced) {
  for (const CoreReading& bad : {kSharedCore, kFarCores}) {
    Bench bench;
    bench.options.core_patience_seconds = 0;
    bench.options.read_cores = [=] { return bad; };
    bench.options.known_cores = kGoodCores;
    ScriptedPlan plan;
    const MeasureResult result = bench.measure({&plan}).results.at(0);
    EXPECT_DOUBLE_EQ(result.health.core_share.value(), bad.multiply_add_rate / 1e11);
    EXPECT_EQ(result.health.core_to_core_latency_seconds, bad.core_to_core_latency_seconds);
    EXPECT_TRUE(result.health.throttled);
    EXPECT_EQ(result.health.discarded_samples, 10) << "as many as the fewest samples, then they are kept";
    EXPECT_GE(result.time.full.samples.size(), 10);
  }
}

TEST(MeasureGroup, WatchesNoCoresWhereNobodyReadsThem) {
  Bench bench;
  bench.options.read_cores = nullptr;
  ScriptedPlan plan;
  const MeasureResult result = bench.measure({&plan}).results.at(0);
  EXPECT_EQ(result.health.core_share, std::nullopt);
  EXPECT_EQ(result.health.core_to_core_latency_seconds, std::nullopt);
  EXPECT_FALSE(result.health.throttled);
}

TEST(MeasureGroup, GoesOnForNoisyCandidatesOnly) {
  struct Noisy final : Plan {
    int runs = 0;
    void run(const ConvArgs&, Queue& queue) override {
      // Wide at first, then settling: the interval narrows from round to round.
      static_cast<ScriptedQueue&>(queue).pass(0.01 * (1 + 0.5 * std::sin(runs * 2.0) / (1 + 0.05 * runs)));
      ++runs;
    }
  } noisy;
  Bench bench;
  bench.options.sampling.max_samples = 40;
  ScriptedPlan quiet;
  const MeasureCandidate candidates[] = {{"noisy", &noisy, &bench.workspace},
                                         {"quiet", &quiet, &bench.workspace}};
  const auto results =
      measure_group(bench.problem, candidates, bench.device, bench.queue, bench.options, nullptr).results;
  EXPECT_GT(results[0].time.rounds, 1);
  EXPECT_GT(results[0].time.full.samples.size(), 10);
  EXPECT_LE(results[0].time.full.samples.size(), 40);
  EXPECT_EQ(results[1].time.rounds, 1);
}

TEST(MeasureGroup, TakesASecondSeriesForTheNoiseFloor) {
  Bench bench;
  bench.options.sampling.repeat = true;
  ScriptedPlan plan;
  const Measurement time = bench.measure({&plan}).results.at(0).time;
  ASSERT_TRUE(time.repeat);
  EXPECT_EQ(time.repeat->samples.size(), 10);
  EXPECT_EQ(plan.runs, 3 + 20);
}

TEST(MeasureGroup, EndsAtTheTimeLimitWithASample) {
  struct Slow final : Plan {
    void run(const ConvArgs&, Queue& queue) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      static_cast<ScriptedQueue&>(queue).pass(0.02);
    }
  } slow;
  Bench bench;
  bench.options.sampling.time_limit_seconds = 0.01;
  const MeasureCandidate candidate{"slow", &slow, &bench.workspace};
  const Measurement time =
      measure_group(bench.problem, {&candidate, 1}, bench.device, bench.queue, bench.options, nullptr)
          .results.at(0)
          .time;
  EXPECT_EQ(time.stop_reason, "time_limit");
  EXPECT_EQ(time.warmup_runs, 1);
  EXPECT_EQ(time.full.samples.size(), 1);
}

std::string error_of(const MeasureResult& result) {
  if (!result.failure) return "";
  try {
    std::rethrow_exception(result.failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(MeasureGroup, KeepsOneFailureToItsCandidate) {
  for (int fails_at : {1, 6}) {
    Bench bench;
    ScriptedPlan good, bad;
    bad.fails_at = fails_at;
    const auto results = bench.measure({&bad, &good}).results;
    EXPECT_EQ(error_of(results[0]), "planted failure");
    EXPECT_EQ(results[0].time.stop_reason, "failed");
    EXPECT_EQ(bad.runs, fails_at) << "no run after the failure";
    EXPECT_EQ(results[0].time.full.samples.size(), fails_at == 1 ? 0 : 2) << "the samples before it";
    EXPECT_EQ(error_of(results[1]), "");
    EXPECT_EQ(results[1].time.full.samples.size(), 10);
  }
}

TEST(MeasureGroup, RecordsHealth) {
  Bench bench;
  bench.options.clock_mhz = measured_clock_mhz;
  bench.options.read_cores = read_cores;
  ScriptedPlan plan;
  const Health health = bench.measure({&plan}).results.at(0).health;
  EXPECT_NE(health.governor, "");
  EXPECT_GE(health.load_before, 0);
  EXPECT_GT(health.clock_mhz.value(), 100);
  EXPECT_LT(health.clock_mhz.value(), 10'000);
  EXPECT_GT(health.core_share.value(), 0);
  EXPECT_LE(health.core_share.value(), 1);
  EXPECT_GE(health.involuntary_switches.value(), 0);
}

TEST(MeasureGroup, KeepsGoogleBenchmarksReport) {
  Bench bench;
  bench.options.sampling.repeat = true;
  bench.options.circumstances = "threads=2 cache=hot";
  ScriptedPlan a, b;
  b.layout = 1.0 / 1024;
  const auto group = bench.measure({&a, &b});
  const json report = json::parse(group.benchmark_json);
  EXPECT_TRUE(report.at("context").contains("num_cpus"));
  ASSERT_EQ(report.at("benchmarks").size(), 40);
  std::set<double> order;
  for (const json& run : report.at("benchmarks")) {
    EXPECT_EQ(run.at("run_type"), "iteration");
    EXPECT_EQ(run.at("repetitions"), 10);
    EXPECT_EQ(run.at("time_unit"), "ms");
    EXPECT_EQ(run.at("name"), run.at("run_name"));
    order.insert(run.at("order").get<double>());
    if (run.at("name") == "plan1/full/" + to_line(bench.problem) + " threads=2 cache=hot") {
      EXPECT_DOUBLE_EQ(run.at("real_time").get<double>(), 1e3 * (1.0 / 256 + 1.0 / 1024));
      EXPECT_DOUBLE_EQ(run.at("phase_layout_seconds").get<double>(), 1.0 / 1024);
    }
  }
  EXPECT_EQ(order.size(), 40);
  std::map<std::string, std::set<int>> families, repetitions;
  for (const json& run : report.at("benchmarks")) {
    families[run.at("name")].insert(run.at("family_index").get<int>());
    repetitions[run.at("name")].insert(run.at("repetition_index").get<int>());
  }
  ASSERT_EQ(families.size(), 4);
  for (const auto& [name, indices] : families) EXPECT_EQ(indices.size(), 1) << name;
  for (const auto& [name, indices] : repetitions) EXPECT_EQ(indices.size(), 10) << name;
  EXPECT_THAT(report.at("benchmarks")[0].at("name").get<std::string>(), HasSubstr("/forward fp32 nchw n=1"));
}

TEST(MeasureGroup, OfNothingIsEmpty) {
  Bench bench;
  const auto group = bench.measure({});
  EXPECT_TRUE(group.results.empty());
  EXPECT_TRUE(json::parse(group.benchmark_json).at("benchmarks").empty());
}

}  // namespace
}  // namespace convscope
