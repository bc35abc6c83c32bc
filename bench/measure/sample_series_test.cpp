#include "bench/measure/sample_series.hpp"

#include <gtest/gtest.h>

namespace convscope {
namespace {

constexpr size_t kCandidate = 1;

Sample sample_of(double seconds) {
  Sample sample;
  sample.seconds = seconds;
  return sample;
}

SampleSeries series_of(SeriesKind kind, std::vector<Sample> samples) {
  SampleSeries series;
  series.candidate = kCandidate;
  series.kind = kind;
  series.samples = std::move(samples);
  series.stop_reason = "converged";
  return series;
}

TEST(SampleSeries, BecomesTheTotalOfItsKindAndNoOther) {
  SampleSeries foreign = series_of(SeriesKind::inference, {sample_of(9)});
  foreign.candidate = 0;
  const std::vector<SampleSeries> all{foreign, series_of(SeriesKind::full, {sample_of(4), sample_of(2)}),
                                      series_of(SeriesKind::repeat, {sample_of(3)})};
  const Measurement time = measurement_of(all, kCandidate);
  EXPECT_EQ(time.full.samples, (std::vector<double>{4, 2}));
  EXPECT_EQ(time.full.statistics.median, 3);
  EXPECT_EQ(time.stop_reason, "converged");
  EXPECT_EQ(time.repeat.value().samples, std::vector<double>{3});
  EXPECT_FALSE(time.inference || time.single || time.kernel);
}

TEST(SampleSeries, SaysWhenItsSamplesEndedAndHowFastTheMachineWasBesideThem) {
  std::vector<Sample> samples(2, sample_of(1));
  samples[0].at_seconds = 0.12346;
  samples[1].at_seconds = 1.79e9;
  samples[0].state.clock_mhz = samples[1].state.clock_mhz = 1980.004;
  const auto full = [&] { return measurement_of({{series_of(SeriesKind::full, samples)}}, kCandidate).full; };
  EXPECT_EQ(full().at_seconds, (std::vector<double>{0.1235, 1.79e9}));
  EXPECT_EQ(full().speeds, (std::vector<double>{1980, 1980})) << "a device's clock";
  samples[0].cores = CoreReading{397.841e9, std::nullopt};
  samples[1].cores = CoreReading{432e9, std::nullopt};
  EXPECT_EQ(full().speeds, (std::vector<double>{397.84, 432})) << "its threads say more than a clock";
  samples[1].cores.reset();
  samples[1].state.clock_mhz.reset();
  EXPECT_EQ(full().speeds, std::vector<double>{}) << "all of them or none";
}

TEST(SampleSeries, OfNobodyIsAFailedMeasurement) {
  const Measurement time = measurement_of({}, kCandidate);
  EXPECT_EQ(time.stop_reason, "failed");
  EXPECT_EQ(time.full.statistics.n, 0);
}

TEST(SampleSeries, TakesPhasesFromTheirOwnSeriesWhereThereIsOne) {
  const auto phased = [](double seconds, double layout) {
    Sample sample = sample_of(seconds);
    sample.phase_seconds[static_cast<size_t>(Phase::prepare)] = 1;
    sample.phase_seconds[static_cast<size_t>(Phase::layout)] = layout;
    return sample;
  };
  std::vector<SampleSeries> all{series_of(SeriesKind::full, {phased(8, 2), phased(9, 4)})};
  Measurement time = measurement_of(all, kCandidate);
  EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::layout)], 3);
  EXPECT_EQ(time.kernel.value().samples, (std::vector<double>{5, 4}));
  all.push_back(series_of(SeriesKind::phases, {phased(16, 5)}));
  time = measurement_of(all, kCandidate);
  EXPECT_EQ(time.phase_seconds[static_cast<size_t>(Phase::layout)], 5);
  EXPECT_EQ(time.kernel.value().samples, std::vector<double>{10});
}

TEST(SampleSeries, CountsTheSamplesThatWereNotHeldWhereAnyCanBe) {
  std::vector<Sample> samples(3, sample_of(1));
  EXPECT_EQ(measurement_of({{series_of(SeriesKind::full, samples)}}, kCandidate).full.not_held, std::nullopt);
  for (size_t i = 0; i < samples.size(); ++i) samples[i].held = i == 0;
  EXPECT_EQ(measurement_of({{series_of(SeriesKind::full, samples)}}, kCandidate).full.not_held, 2);
}

TEST(SampleSeries, JudgesHealthByKeptSamplesAndQuotesTheDriverOnAll) {
  std::vector<Sample> samples(2, sample_of(1));
  samples[0].state = {3000, 100, 50, "hot"};
  samples[1].state = {3100, 120, 55, ""};
  samples[0].cores = CoreReading{9e10, 30e-9};
  samples[1].cores = CoreReading{9e10, std::nullopt};
  samples[1].involuntary_switches = 2;
  SampleSeries series = series_of(SeriesKind::full, samples);
  Sample discarded = sample_of(7);
  discarded.state = {1000, 140, 70, "power cap"};
  discarded.cores = CoreReading{1e10, 500e-9};
  discarded.involuntary_switches = 3;
  series.discarded = {discarded};

  ClockWatch clocks;
  for (int i = 0; i < 9; ++i) clocks.add(3000);
  const CoreWatch cores(nullptr, {1e11, 25e-9}, 0);
  const Health health = health_of({{series}}, kCandidate, clocks, cores, [] { return ""; });
  EXPECT_EQ(health.clock_mhz, 3050);
  EXPECT_DOUBLE_EQ(health.core_share.value(), 0.9);
  EXPECT_EQ(health.core_to_core_latency_seconds, 30e-9);
  EXPECT_EQ(health.power_watts, 120);
  EXPECT_EQ(health.temperature_celsius, 70);
  EXPECT_EQ(health.throttle_reasons, "hot; power cap");
  EXPECT_EQ(health.involuntary_switches, 5);
  EXPECT_EQ(health.discarded_samples, 1);
  EXPECT_FALSE(health.throttled);
}

}  // namespace
}  // namespace convscope
