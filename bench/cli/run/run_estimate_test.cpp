#include "bench/cli/run/run_estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "bench/cli/test_program.hpp"
#include "bench/record/result_files.hpp"
#include "bench/record/test_records.hpp"
#include "bench/runner/resolution.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kSpread = 0.05;
const DeviceInfo kProcessor = testing::test_processor();

GroupTask task(const Protocol& protocol = {}) {
  GroupTask made;
  made.group.common = measured("", 1).key;  // conv2 on two threads
  made.protocol = protocol;
  return made;
}

SamplingRule limit(double seconds) {
  SamplingRule rule;
  rule.time_limit_seconds = seconds;
  return rule;
}

MeasureOptions on_cpu(const SamplingRule& rule = {}) {
  MeasureOptions options;
  options.sampling = rule;
  return options;
}

double seconds_of(const PacedCandidate& candidate, const SamplingRule& rule, double spread,
                  double retaken = 0) {
  return series_estimate(candidate, on_cpu(rule), spread, retaken).seconds;
}

// Of so many candidates of 10 ms.
StageSeconds estimate_of(size_t candidates, const GroupTask& of = task()) {
  return estimate(of, std::vector(candidates, PacedCandidate{0.01}), kProcessor, {{}, {kSpread}});
}

TEST(RunEstimate, IsTheSumOverItsStages) {
  const StageSeconds seconds = estimate_of(3);
  for (const double one :
       {seconds.start, seconds.expected, seconds.verify, seconds.measure, seconds.verify_again})
    EXPECT_GT(one, 0);
  EXPECT_DOUBLE_EQ(seconds.total(), seconds.start + seconds.expected + seconds.verify + seconds.measure +
                                        seconds.verify_again);
}

TEST(RunEstimate, TwiceTheCandidatesTakeTwiceTheTimeButForWhatTheyShare) {
  const StageSeconds one = estimate_of(1), two = estimate_of(2), four = estimate_of(4);
  EXPECT_DOUBLE_EQ(two.start, four.start);
  EXPECT_DOUBLE_EQ(two.expected, four.expected);
  EXPECT_DOUBLE_EQ(2 * two.verify, four.verify);
  EXPECT_DOUBLE_EQ(2 * two.verify_again, four.verify_again);
  const double candidate = two.measure - one.measure;
  EXPECT_NEAR(four.measure - two.measure, 2 * candidate, 1e-9);
  EXPECT_NEAR(candidate, seconds_of({0.01}, {}, kSpread), 1e-9);
  EXPECT_LT(candidate, one.measure) << "the tensors' copies are theirs together";
}

TEST(RunEstimate, WithoutACandidateOnlyTheWorkerStarts) {
  EXPECT_EQ(estimate_of(0).total(), estimate_of(0).start);
}

TEST(RunEstimate, OfVerificationHasNothingMeasured) {
  Protocol protocol;
  protocol.measure = false;
  const StageSeconds seconds = estimate_of(2, task(protocol));
  EXPECT_EQ(seconds.measure + seconds.verify_again, 0);
  EXPECT_EQ(seconds.verify, estimate_of(2).verify);
  DeviceInfo emulator = kProcessor;
  emulator.kind = DeviceKind::emulator;
  EXPECT_EQ(estimate(task(), std::vector(2, PacedCandidate{0.01}), emulator, {}).measure, 0);
}

TEST(RunEstimate, VerifiesTheReferenceAndDoesNotTimeIt) {
  PacedCandidate reference{0.01};
  reference.is_timed = false;
  const StageSeconds seconds = estimate(task(), std::span(&reference, 1), kProcessor, {});
  EXPECT_GT(seconds.verify, 0);
  EXPECT_EQ(seconds.measure, 0);
}

TEST(RunEstimate, VerifiesOnWholeNumbersWhereTheyMustBeExact) {
  PacedCandidate exact{0.01};
  exact.exact_on_integers = true;
  const StageSeconds seconds = estimate(task(), std::span(&exact, 1), kProcessor, {});
  EXPECT_DOUBLE_EQ(2 * seconds.verify, 3 * estimate_of(1).verify);
  EXPECT_DOUBLE_EQ(seconds.expected, 2 * estimate_of(1).expected);
}

TEST(RunEstimate, VerifiesSampledOutputsWithAReluOnPositiveDataToo) {
  const auto verified = [](int64_t channels, Epilogue epilogue) {
    GroupTask of = task();
    of.group.common.problem.out_channels = channels;
    of.group.common.problem.epilogue = epilogue;
    return estimate_of(1, of);
  };
  const StageSeconds relu = verified(256, Epilogue::relu), bias = verified(256, Epilogue::bias);
  EXPECT_DOUBLE_EQ(2 * relu.verify, 3 * bias.verify);
  EXPECT_DOUBLE_EQ(relu.expected, 2 * bias.expected);
  EXPECT_DOUBLE_EQ(verified(1, Epilogue::relu).verify, verified(1, Epilogue::bias).verify) << "few: all";
}

TEST(RunEstimate, CopiesTensorsForAColdCache) {
  GroupTask small = task();
  small.group.common.problem.batch = 1;
  DeviceInfo cached = kProcessor;
  cached.llc_bytes *= 64;
  const std::vector<PacedCandidate> one(1, {0.01});
  EXPECT_LT(estimate(small, one, kProcessor, {}).measure, estimate(small, one, cached, {}).measure);
  small.group.common.cache = CacheState::hot;
  EXPECT_DOUBLE_EQ(estimate(small, one, kProcessor, {}).measure, estimate(small, one, cached, {}).measure);
}

TEST(SeriesEstimate, EndsAfterTheLeastSamplesWhereTheyAreAlike) {
  const double sample = 0.01 + 3e-4;
  EXPECT_NEAR(seconds_of({0.01}, {}, 0), 5 * 0.01 + 10 * sample, 1e-9) << "five runs are 50 ms of warm-up";
}

TEST(SeriesEstimate, EvictsAfterEachRunAndRunsUntimedBeforeEachSample) {
  PacedCandidate candidate{0.0005};  // two a sample
  const double plain = seconds_of(candidate, {}, 0);
  candidate.evict_seconds = 0.0005;
  EXPECT_NEAR(seconds_of(candidate, {}, 0), plain + 10 * 2 * 0.0005, 1e-9) << "as long a warm-up";
  EXPECT_NEAR(seconds_of({.run_seconds = 0.02, .evict_seconds = 0.01}, {}, 0), 3 * 0.03 + 10 * (0.03 + 3e-4),
              1e-9)
      << "three runs of warm-up";
  candidate.evict_seconds = 0;
  MeasureOptions hot = on_cpu();
  hot.cache = CacheState::hot;
  EXPECT_NEAR(series_estimate(candidate, hot, 0).seconds, plain + 10 * 0.0005, 1e-9);
}

TEST(SeriesEstimate, HasASeriesOfSingleRunsWhereAGpusAreBatched) {
  MeasureOptions gpu = on_cpu(limit(1e6));
  adapt_to_gpu(gpu);
  const auto samples = [&](double run) {  // of ten each, an untimed run before each
    return (series_estimate({run}, gpu, 0).seconds - std::ceil(0.05 / run) * run) / 10;
  };
  EXPECT_NEAR(samples(1e-3), 2 * 1e-3 + 3e-4, 1e-6);
  EXPECT_NEAR(samples(2e-5), 51 * 2e-5 + 3e-4 + 2 * 2e-5 + 3e-4, 1e-6) << "50 runs, and one by itself";
}

TEST(SeriesEstimate, HasASeriesOfPhasesWhereTheyAreMeasuredApart) {
  PacedCandidate phased{0.01};
  phased.has_phases = true;
  MeasureOptions options = on_cpu();
  EXPECT_EQ(series_estimate(phased, options, 0).seconds, seconds_of({0.01}, {}, 0));
  options.phases_apart = true;
  EXPECT_NEAR(series_estimate(phased, options, 0).seconds - 0.05, 2 * (seconds_of({0.01}, {}, 0) - 0.05),
              1e-9);
}

TEST(RunEstimate, EvictsWhatIsToBeCold) {
  CaseKey key = measured("", 1).key;
  const double byte = evict_seconds(key, 1 << 20) - evict_seconds(key, (1 << 20) - 1);
  EXPECT_GT(byte, 0);
  const auto all = static_cast<double>(key.problem.total_bytes()),
             filter = static_cast<double>(key.problem.bytes(Role::filter));
  EXPECT_NEAR(evict_seconds(key, 100), byte * (100 + all), 1e-9);
  key.cache = CacheState::weights_cold;
  EXPECT_NEAR(evict_seconds(key, 100), byte * (100 + filter), 1e-9);
}

TEST(SeriesEstimate, TakesSamplesAgainAsTheCalibrationDidWithinWhatASeriesIsGranted) {
  const double sample = 0.01 + 3e-4;
  EXPECT_NEAR(seconds_of({0.01}, {}, 0, 0.5), 5 * 0.01 + 15 * sample, 1e-9);
  EXPECT_NEAR(seconds_of({0.01}, {}, 1, 0.5), 5 * 0.01 + 210 * sample, 1e-9) << "ten, not a hundred";
  EXPECT_EQ(series_estimate({0.01}, on_cpu(), 0, 0.5).retaken, 5);
}

TEST(RunEstimate, WaitsForThreadsAsOftenAsSamplesAreTakenAgainForSecondsAtMost) {
  const auto measured_in = [](double retaken, size_t candidates) {
    const std::vector all(candidates, PacedCandidate{0.01});
    return estimate(task(), all, kProcessor, {{}, {kSpread}, 1.3, retaken}).measure;
  };
  const SeriesEstimate one = series_estimate({0.01}, on_cpu(), kSpread, 0.1);
  const double calm = series_estimate({0.01}, on_cpu(), kSpread).seconds;
  EXPECT_NEAR(measured_in(0.1, 1) - measured_in(0, 1), one.seconds - calm + 0.01 * one.retaken, 1e-9);
  EXPECT_NEAR(measured_in(0.1, 1000) - measured_in(0, 1000), 1000 * (one.seconds - calm) + 5, 1e-6);
}

TEST(RunEstimate, IsTheMeanOverSpreadsOfWhichTheWidestTakeMostSamples) {
  const auto measured_in = [](const std::vector<double>& spreads) {
    return estimate(task(), std::vector(1, PacedCandidate{0.01}), kProcessor, {{}, spreads}).measure;
  };
  const double mixed = measured_in({0.002, 0.004, 0.3});
  EXPECT_NEAR(mixed, (measured_in({0.002}) + measured_in({0.004}) + measured_in({0.3})) / 3, 1e-9);
  EXPECT_GT(mixed, measured_in({0.004})) << "the middle one";
}

TEST(RunEstimate, HasTheTimeOfPlanning) {
  PacedCandidate slow{0.01};
  slow.plan_seconds = 3;
  EXPECT_NEAR(estimate(task(), std::vector(2, slow), kProcessor, {{}, {kSpread}}).total(),
              estimate_of(2).total() + 6, 1e-9);
}

TEST(SeriesEstimate, EndsAfterTheMostSamplesWhereTheySpreadTooWide) {
  EXPECT_NEAR(seconds_of({0.01}, {}, 1), 5 * 0.01 + 200 * (0.01 + 3e-4), 1e-9);
}

TEST(SeriesEstimate, EndsAtTheTimeLimit) {
  const double seconds = seconds_of({0.01}, limit(1), 1);
  EXPECT_LE(seconds, 1.02);
  EXPECT_GT(seconds, 0.95);
  EXPECT_NEAR(seconds_of({0.01}, limit(1.8), 1), 1.8, 0.04);
}

TEST(SeriesEstimate, TakesSixSamplesOfALongRunAllTheSame) {
  EXPECT_NEAR(seconds_of({1}, limit(3), kSpread), 1 + 6, 0.01)
      << "one run of warm-up; two limits more are for samples alone";
  EXPECT_GE(seconds_of({100}, limit(1), kSpread), 200) << "a run of warm-up, and one sample always";
}

TEST(SeriesEstimate, SharesTheTimeLimitAmongSeries) {
  PacedCandidate prepared{0.01};
  prepared.has_prepare = true;
  SamplingRule twice = limit(1);
  twice.repeat = true;
  EXPECT_NEAR(seconds_of(prepared, twice, 1), 1, 0.06);
  EXPECT_NEAR(seconds_of(prepared, {}, 0) - 0.05, 2 * (seconds_of({0.01}, {}, 0) - 0.05), 1e-9);
}

TEST(SeriesEstimate, WaitsForAnIntervalAsNarrowAsTheRuleWants) {
  SamplingRule wide;
  wide.confidence_width = 0.05;
  EXPECT_LT(seconds_of({0.01}, wide, kSpread), 0.5 * seconds_of({0.01}, {}, kSpread));
}

TEST(SeriesEstimate, BatchesShortRuns) {
  // Samples of 1 ms at least, however short a run is.
  EXPECT_NEAR(seconds_of({1e-6}, {}, 0), 0.05 + 10 * (1e-3 + 3e-4), 1e-4);
  EXPECT_GT(seconds_of({0}, {}, 0), 0);
}

TEST(RunSeconds, FollowFromThePlanAndTheCeilings) {
  const CaseKey key = task().group.common;
  Pace pace{testing::kCeilings};
  const OperationCount planned{1e9, 1e9, 1e8, 0};
  const double seconds = run_seconds(key, planned, pace);
  EXPECT_GT(seconds, 2e9 / 2e11 + 1e8 / 2e10) << "no run reaches its ceilings";
  pace.ceilings.fma_flops *= 2;
  pace.ceilings.copy_bytes *= 2;
  EXPECT_DOUBLE_EQ(2 * run_seconds(key, planned, pace), seconds);
}

TEST(RunSeconds, AreTheDirectMethodsWhereThePlanDoesNotSay) {
  const CaseKey key = task().group.common;
  const Pace pace{testing::kCeilings};
  const OperationCount direct{key.problem.nominal_flops(), 0, static_cast<double>(key.problem.total_bytes())};
  EXPECT_EQ(run_seconds(key, std::nullopt, pace), run_seconds(key, direct, pace));
}

TEST(RunSeconds, AreByTheKindsRateWhereNoCeilingIsKnown) {
  CaseKey key = task().group.common;
  const double two_threads = run_seconds(key, std::nullopt, {});
  key.threads = 1;
  EXPECT_DOUBLE_EQ(run_seconds(key, std::nullopt, {}), 2 * two_threads);
  key.device = DeviceKind::cuda;
  EXPECT_LT(run_seconds(key, std::nullopt, {}), two_threads);
}

TEST(RunOverhead, IsTheCeilingsTwiceForALongRun) {
  EXPECT_EQ(run_overhead_seconds(100, 0), 0) << "nothing is measured";
  const double one = run_overhead_seconds(10, 1);
  EXPECT_NEAR(run_overhead_seconds(10, 3) - one, 2 * (run_overhead_seconds(10, 2) - one), 1e-9);
  EXPECT_GT(run_overhead_seconds(100, 1), one);
}

class PaceOfMachine : public ::testing::Test {
 protected:
  PaceOfMachine() { ::setenv("CONVSCOPE_CACHE", folder_.path().c_str(), 1); }
  ~PaceOfMachine() override { ::unsetenv("CONVSCOPE_CACHE"); }

  testing::TemporaryFolder folder_;
  const DeviceInfo device_ = measured("direct.cpu", 1).device;
};

TEST_F(PaceOfMachine, IsThatOfItsCalibration) {
  ResultFile file;
  file.records = {measured("direct.cpu", 0.01), measured("fft16.cpu", 0.02)};
  file.records[1].ceilings.fma_flops *= 3;
  file.records[1].health.discarded_samples = 3;
  file.records[1].time->plan_seconds = 3;
  file.records[1].time->inference = file.records[1].time->full;
  file.records[1].time->phase_seconds[0] = 0.01;
  write_results(resolution_folder(device_, 2) + "/1", file);
  const Pace pace = pace_of(device_, 2);
  EXPECT_EQ(pace.ceilings.fma_flops, 6e11) << "the better of two";
  const auto n = static_cast<double>(file.records[0].time->full.statistics.n);
  EXPECT_THAT(pace.spreads, SizeIs(2));
  EXPECT_THAT(pace.spreads, Each(DoubleNear(0.1 * std::sqrt(n) / (1.96 * 1.2533), 1e-9)))
      << "from intervals of 10% to a side";
  EXPECT_EQ(pace.plan_seconds_of.at("fft16.cpu"), 3);
  EXPECT_THAT(pace.preparing, ElementsAre("fft16.cpu"));
  EXPECT_THAT(pace.phased, ElementsAre("fft16.cpu"));
  const Pace as_predicted{pace.ceilings, {0}, 1};
  const double first = run_seconds(file.records[0].key, file.records[0].operations, as_predicted),
               second = run_seconds(file.records[1].key, file.records[1].operations, as_predicted);
  EXPECT_NEAR(pace.times_predicted, (0.01 / first + 0.02 / second) / 2, 1e-9);
  const auto estimated = [&](const ResultRecord& of) { return run_seconds(of.key, of.operations, pace); };
  EXPECT_DOUBLE_EQ(estimated(file.records[0]), 0.01) << "each algorithm as it was measured";
  EXPECT_DOUBLE_EQ(estimated(file.records[1]), 0.02);
  EXPECT_DOUBLE_EQ(estimated(measured("winograd.mixed.cpu", 1)), pace.times_predicted * first);
  EXPECT_EQ(pace.retaken, 3.0 / (3 * file.records[0].time->full.statistics.n));
}

TEST_F(PaceOfMachine, IsSeenAtAGlanceWhereItIsNotCalibrated) {
  const Pace pace = pace_of(device_, 2);
  EXPECT_GT(pace.ceilings.fma_flops, 1e8);
  EXPECT_GT(pace.ceilings.copy_bytes, 0);
  EXPECT_EQ(pace.spreads, Pace{}.spreads);
  DeviceInfo gpu = device_;
  gpu.kind = DeviceKind::cuda;
  EXPECT_EQ(pace_of(gpu, 1).ceilings.fma_flops, 0) << "it is not opened";
}

TEST(DryRun, NamesWhatOnlyPlanningRefuses) {
  const std::vector<std::string> words = {"run",      "--case", "n=1 c=4 hw=9 k=4 rs=3", "--dry-run",
                                          "--device", "cpu",    "--workspace-cap"};
  const auto dry_run = [&](const std::string& cap) {
    std::vector<std::string> all = words;
    all.push_back(cap);
    return testing::run_program(all, testing::registry_with_picky());
  };
  EXPECT_THAT(dry_run("4KiB"),
              HasSubstr("    picky.cpu refuses: it needs 1.0 MiB of workspace, more than the cap "
                        "of 4.0 KiB (1048576 and 4096 bytes)\n"));
  EXPECT_THAT(dry_run("2MiB"), AllOf(HasSubstr("    picky.cpu\n"), Not(HasSubstr("refuses"))));
  EXPECT_THAT(dry_run("2MiB"), HasSubstr(" s on a quiet machine\n"));
}

}  // namespace
}  // namespace convscope
