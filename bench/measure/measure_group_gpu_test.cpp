// What measure_group does otherwise on a GPU, and a lost device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "bench/device/forwarding_device_test.hpp"
#include "bench/measure/measure_group.hpp"
#include "bench/measure/scripted_plan.hpp"

namespace convscope {
namespace {

using testing::Bench;
using ::testing::HasSubstr;
using testing::ScriptedPlan;

// The options of a GPU, on a device that tells no state.
struct GpuBench : Bench {
  GpuBench() { adapt_to_gpu(options); }
};

TEST(MeasureGroup, BatchesOnAGpuOnlyRunsUnder50MicrosecondsAndTimesTheirSingleLaunchesToo) {
  GpuBench bench;
  ScriptedPlan shorter, longer;
  shorter.product = 1.0 / (1 << 16);  // 15 us
  longer.product = 1.0 / (1 << 14);   // 61 us
  const auto results = bench.measure({&shorter, &longer}).results;
  EXPECT_EQ(results[0].time.iterations_per_sample, 66);
  ASSERT_TRUE(results[0].time.single);
  EXPECT_EQ(results[0].time.single->statistics.median, shorter.product);
  EXPECT_EQ(results[1].time.iterations_per_sample, 1);
  EXPECT_EQ(results[1].time.single, std::nullopt);
}

TEST(MeasureGroup, BatchesNoMoreThanAGpusQueueOfLaunchesHolds) {
  GpuBench bench;
  ScriptedPlan tiny;
  tiny.product = 1e-6;
  EXPECT_EQ(bench.measure({&tiny}).results.at(0).time.iterations_per_sample, 100);
}

TEST(MeasureGroup, HoldsNoCandidatesFirstRunBack) {
  GpuBench bench;
  bench.queue.most_held = 500;
  ScriptedPlan first, failing, second;
  failing.fails_at = 1;
  const auto results = bench.measure({&first, &failing, &second}).results;
  for (const ScriptedPlan* plan : {&first, &second}) {
    EXPECT_FALSE(plan->first_run_was_held);
    EXPECT_EQ(plan->held_runs, plan->runs - 1);
  }
  EXPECT_EQ(results[0].time.full.not_held, 0);
}

TEST(MeasureGroup, BatchesNoMoreRunsThanCanBeHeldBackTogether) {
  GpuBench bench;
  bench.queue.most_held = 500;
  ScriptedPlan light, heavy, heaviest;
  light.product = heavy.product = heaviest.product = 1e-6;
  light.operations = 1;
  heavy.operations = 32;
  heaviest.operations = 501;
  const auto results = bench.measure({&light, &heavy, &heaviest}).results;
  EXPECT_EQ(results[0].time.iterations_per_sample, 100);
  EXPECT_EQ(results[1].time.iterations_per_sample, 15);
  EXPECT_EQ(results[1].time.full.not_held, 0);
  EXPECT_EQ(results[2].time.iterations_per_sample, 1);
  EXPECT_EQ(results[2].time.full.not_held, results[2].time.full.statistics.n);
}

TEST(MeasureGroup, CountsTheSamplesThatWereNotHeldBack) {
  GpuBench bench;
  bench.queue.most_held = 500;
  struct Waiting final : Plan {
    int runs = 0;
    void run(const ConvArgs&, Queue& queue) override {
      auto& scripted = static_cast<testing::ScriptedQueue&>(queue);
      if (scripted.is_timing() && ++runs % 2 == 0) scripted.enqueue(501);
      scripted.pass(1.0 / 256);
    }
  } waiting;
  const MeasureCandidate candidate{"waiting", &waiting, &bench.workspace};
  const auto group =
      measure_group(bench.problem, {&candidate, 1}, bench.device, bench.queue, bench.options, nullptr);
  const Series& full = group.results.at(0).time.full;
  EXPECT_EQ(full.not_held, full.statistics.n / 2);
  EXPECT_THAT(group.benchmark_json, HasSubstr("\"not_held\": 1.0"));
}

TEST(MeasureGroup, KnowsNothingOfHeldSamplesOnACpu) {
  Bench bench;
  ScriptedPlan plan;
  EXPECT_EQ(bench.measure({&plan}).results.at(0).time.full.not_held, std::nullopt);
}

TEST(MeasureGroup, TakesAGpusPhasesInASeriesOfTheirOwn) {
  GpuBench bench;
  ScriptedPlan plan, plain;
  plan.layout = 1.0 / 512;
  const auto result = bench.measure({&plan, &plain});
  const Measurement& time = result.results[0].time;
  EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::layout)], 1.0 / 512);
  ASSERT_TRUE(time.kernel);
  EXPECT_EQ(time.kernel->statistics.median, plan.product);
  EXPECT_EQ(time.full.statistics.median, plan.product + plan.layout);
  EXPECT_THAT(result.benchmark_json, HasSubstr("plan0/phases/"));
  EXPECT_THAT(result.benchmark_json, ::testing::Not(HasSubstr("plan1/phases/")));
}

TEST(MeasureGroup, KnowsNoClockWhereTheDeviceTellsNone) {
  GpuBench bench;
  ScriptedPlan plan;
  const Health health = bench.measure({&plan}).results.at(0).health;
  EXPECT_EQ(health.clock_mhz, std::nullopt);
  EXPECT_EQ(health.power_watts, std::nullopt);
  EXPECT_EQ(health.throttle_reasons, "");
  EXPECT_FALSE(health.throttled);
}

// A device with a state: every question costs time on a GPU's host.
class WatchedDevice final : public testing::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  int questions = 0;
  std::function<bool(int question)> is_held_down = [](int) { return false; };

  DeviceState state() override {
    ++questions;
    return {1700, 100.0 + questions, 60.0, questions > 20 ? "power cap" : "", is_held_down(questions)};
  }
};

TEST(MeasureGroup, AsksADeviceForItsStateOnceASample) {
  GpuBench bench;
  WatchedDevice device(bench.device);
  ScriptedPlan plan;
  const MeasureCandidate candidate{"plan", &plan, &bench.workspace};
  const MeasureResult result =
      measure_group(bench.problem, {&candidate, 1}, device, bench.queue, bench.options, nullptr)
          .results.at(0);
  constexpr int before_the_first = 15;
  EXPECT_EQ(device.questions, before_the_first + result.time.full.statistics.n);
  EXPECT_EQ(result.health.clock_mhz, 1700);
  EXPECT_EQ(result.health.power_watts, 100 + before_the_first + (1 + result.time.full.statistics.n) / 2.0);
  EXPECT_EQ(result.health.temperature_celsius, 60);
  EXPECT_EQ(result.health.throttle_reasons, "power cap");
}

Health health_on(WatchedDevice& device, GpuBench& bench) {
  ScriptedPlan plan;
  const MeasureCandidate candidate{"plan", &plan, &bench.workspace};
  return measure_group(bench.problem, {&candidate, 1}, device, bench.queue, bench.options, nullptr)
      .results.at(0)
      .health;
}

TEST(MeasureGroup, MarksWhatADriverHeldDownFromTheBeginningAlthoughTheClockIsAsUsual) {
  GpuBench bench;
  WatchedDevice device(bench.device);
  device.is_held_down = [](int) { return true; };
  const Health health = health_on(device, bench);
  EXPECT_TRUE(health.throttled);
  EXPECT_EQ(health.discarded_samples, bench.options.sampling.min_samples)
      << "each retaken, within the budget";
}

TEST(MeasureGroup, TakesASampleAgainThatADriverHeldDownForAMoment) {
  GpuBench bench;
  WatchedDevice device(bench.device);
  device.is_held_down = [](int question) { return question == 18 || question == 19; };
  const Health health = health_on(device, bench);
  EXPECT_FALSE(health.throttled);
  EXPECT_EQ(health.discarded_samples, 2);
}

TEST(MeasureGroup, EndsAtOnceWhenACandidateLosesTheDevice) {
  for (int run : {1, 8}) {  // in the warm-up, while sampling
    Bench bench;
    ScriptedPlan right, losing;
    losing.loses_at = run;
    size_t last = 0;
    EXPECT_THROW(bench.measure({&right, &losing}, [&](size_t candidate) { last = candidate; }), DeviceLost);
    EXPECT_EQ(last, 1u);
    EXPECT_EQ(losing.runs, run);
  }
}

}  // namespace
}  // namespace convscope
