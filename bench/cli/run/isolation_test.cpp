// bench/runner/isolation with real child processes: convscope_faulty as the program, its algorithms as the
// culprits. Here because that program needs the command line.
#include "bench/runner/isolation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

#include "algorithms/catalog.hpp"
#include "bench/cli/faulty/faulty_algorithms.hpp"
#include "bench/cli/faulty/faulty_device.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;  // its handler turns signals into exit code 1, and memory has no limit
#else
constexpr bool kSanitized = false;
#endif

class Isolation : public ::testing::Test {
 protected:
  Isolation() {
    register_all(registry_);
    add_faulty(registry_);
    options_.executable = CONVSCOPE_FAULTY;
    options_.retry_seconds = 0;
  }

  GroupEnd run() {
    return run_isolated(task_, registry_, describe_device(DeviceKind::cpu), {}, options_, stop_, sink_);
  }

  // With the well-behaved plain.cpu, which must not suffer.
  const ResultRecord& run_beside_plain(const std::string& culprit) {
    task_.group.algorithms = {"plain.cpu", culprit};
    EXPECT_EQ(run().kind, GroupEnd::Kind::finished);
    EXPECT_THAT(sink_.records, SizeIs(2));
    EXPECT_EQ(sink_.records["plain.cpu"].outcome, Outcome::measured) << sink_.records["plain.cpu"].note;
    const ResultRecord& record = sink_.records[culprit];
    EXPECT_EQ(record.key.algorithm, culprit);
    EXPECT_EQ(record.key.network, "net");
    EXPECT_EQ(record.algorithm.id, culprit);
    EXPECT_FALSE(record.device.name.empty());
    return record;
  }

  StopSignal stop_;
  Registry registry_;
  IsolationOptions options_;
  GroupTask task_ = testing::small_task(0.1);
  testing::CollectingSink sink_;
};

TEST_F(Isolation, SurvivesASegmentationFaultInThePlan) {
  const ResultRecord& record = run_beside_plain("faulty.segfault.plan.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_EQ(record.reason, Reason::crashed);
  EXPECT_THAT(record.note, HasSubstr(kSanitized ? "exit code" : "SIGSEGV"));
  EXPECT_THAT(record.note, HasSubstr("plan"));
}

TEST_F(Isolation, SurvivesASegmentationFaultWhileMeasuring) {
  const ResultRecord& record = run_beside_plain("faulty.segfault.measure.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_THAT(record.note, HasSubstr("measure"));
}

TEST_F(Isolation, GoesOnInAFreshProcessAfterALostDevice) {
  for (const char* culprit : {"faulty.lost.plan.cpu", "faulty.lost.verify.cpu", "faulty.lost.measure.cpu"}) {
    sink_ = testing::CollectingSink();
    const ResultRecord& record = run_beside_plain(culprit);
    EXPECT_EQ(record.outcome, Outcome::crashed);
    EXPECT_THAT(record.note, HasSubstr("an illegal memory access was encountered"));
  }
}

TEST_F(Isolation, KeepsTheVerdictsOfAProcessThatACandidateEnded) {
  const ResultRecord& record = run_beside_plain("faulty.segfault.measure.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_LT(sink_.records["plain.cpu"].accuracy.relative_l2.value_or(1), 1e-5);
}

TEST_F(Isolation, SurvivesAnAbort) {
  const ResultRecord& record = run_beside_plain("faulty.abort.verify.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_THAT(record.note, HasSubstr("SIGABRT"));
  EXPECT_THAT(record.note, HasSubstr("verify"));
}

TEST_F(Isolation, SurvivesAnExitInTheMiddle) {
  const ResultRecord& record = run_beside_plain("faulty.exit.verify.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_THAT(record.note, HasSubstr("exit code"));
}

TEST_F(Isolation, TakesAForeignKillForMemoryThatRanOut) {
  const ResultRecord& record = run_beside_plain("faulty.kill.verify.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_EQ(record.reason, Reason::out_of_memory);
  EXPECT_THAT(record.note, HasSubstr("killed by SIGKILL during verify, probably because memory ran out"));
}

TEST_F(Isolation, KnowsItsOwnKillFromAForeignOne) {
  const ResultRecord& record = run_beside_plain("faulty.linger.verify.cpu");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_EQ(record.reason, Reason::crashed);
  EXPECT_THAT(record.note, HasSubstr("had to be killed"));
}

TEST_F(Isolation, KeepsTheTextOfAnException) {
  const ResultRecord& record = run_beside_plain("faulty.throw.measure.cpu");
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_THAT(record.note, HasSubstr("this algorithm always throws"));
}

TEST_F(Isolation, EndsAnEndlessLoop) {
  task_.protocol.sampling.stage_limit_seconds = kSanitized ? 10 : 4;
  const ResultRecord& record = run_beside_plain("faulty.loop.verify.cpu");
  EXPECT_EQ(record.outcome, Outcome::timeout);
  EXPECT_EQ(record.reason, Reason::timeout);
  EXPECT_EQ(record.note, kSanitized ? "no end of verify within 10 s" : "no end of verify within 4.0 s");
}

TEST_F(Isolation, EndsAnEndlessLoopWhileMeasuring) {
  task_.protocol.sampling.stage_limit_seconds = kSanitized ? 10 : 4;
  const ResultRecord& record = run_beside_plain("faulty.loop.measure.cpu");
  EXPECT_EQ(record.outcome, Outcome::timeout);
  EXPECT_THAT(record.note, HasSubstr("during measure"));
}

TEST_F(Isolation, RefusesATebibyteOfMemory) {
  if (kSanitized) GTEST_SKIP() << "under AddressSanitizer workers have no memory limit";
  const ResultRecord& record = run_beside_plain("faulty.memory.verify.cpu");
  EXPECT_EQ(record.outcome, Outcome::out_of_memory);
  EXPECT_EQ(record.reason, Reason::out_of_memory);
}

TEST_F(Isolation, BlamesOneAfterTheOther) {
  task_.group.algorithms = {"faulty.abort.plan.cpu", "plain.cpu", "faulty.exit.verify.cpu",
                            "faulty.throw.plan.cpu"};
  EXPECT_EQ(run().kind, GroupEnd::Kind::finished);
  EXPECT_THAT(sink_.records, SizeIs(4));
  EXPECT_EQ(sink_.records["faulty.abort.plan.cpu"].outcome, Outcome::crashed);
  EXPECT_EQ(sink_.records["faulty.exit.verify.cpu"].outcome, Outcome::crashed);
  EXPECT_EQ(sink_.records["faulty.throw.plan.cpu"].outcome, Outcome::failed);
  EXPECT_EQ(sink_.records["plain.cpu"].outcome, Outcome::measured);
}

TEST_F(Isolation, BlamesNobodyWhenTheWorkerCannotRunAtAll) {
  options_.executable = "/bin/false";
  task_.group.algorithms = {"plain.cpu"};
  const GroupEnd end = run();
  EXPECT_EQ(end.kind, GroupEnd::Kind::no_worker);
  EXPECT_THAT(end.left, ElementsAre("plain.cpu"));
  EXPECT_EQ(end.why, "the process ended with exit code 1 before it began a candidate");
  EXPECT_THAT(sink_.records, SizeIs(0));
}

TEST_F(Isolation, TriesABusyDeviceOnceMore) {
  const testing::FaultyDevice device("!");
  task_.group.algorithms = {"plain.cpu"};
  EXPECT_EQ(run().kind, GroupEnd::Kind::finished);
  EXPECT_EQ(sink_.records["plain.cpu"].outcome, Outcome::measured);
}

TEST_F(Isolation, TriesABusyDeviceOnceMoreAfterACrashToo) {
  const testing::FaultyDevice device(".!.");
  EXPECT_EQ(run_beside_plain("faulty.abort.verify.cpu").outcome, Outcome::crashed);
}

TEST_F(Isolation, GivesUpOnADeviceThatStaysBusy) {
  const testing::FaultyDevice device("!!");
  task_.group.algorithms = {"plain.cpu", "faulty.throw.plan.cpu"};
  const GroupEnd end = run();
  EXPECT_EQ(end.kind, GroupEnd::Kind::no_worker);
  EXPECT_THAT(end.left, ElementsAre("plain.cpu", "faulty.throw.plan.cpu"));
  EXPECT_EQ(end.why, "CUDA-capable device(s) is/are busy or unavailable");
}

TEST_F(Isolation, WaitsForASlowPlannerThatShowsLife) {
  options_.limits = {{2, 600}, {600, 600}, {600, 600}};
  EXPECT_EQ(run_beside_plain("faulty.patient.plan.cpu").outcome, Outcome::measured);
}

TEST_F(Isolation, EndsAPlannerThatShowsNoLife) {
  options_.limits = {{2, 600}, {600, 600}, {600, 600}};
  const ResultRecord& record = run_beside_plain("faulty.loop.plan.cpu");
  EXPECT_EQ(record.outcome, Outcome::timeout);
  EXPECT_EQ(record.note, "no sign of life during plan for 2.0 s");
}

TEST_F(Isolation, EndsAPlannerThatShowsLifeForEver) {
  options_.limits = {{600, 3}, {600, 600}, {600, 600}};
  const ResultRecord& record = run_beside_plain("faulty.restless.plan.cpu");
  EXPECT_EQ(record.outcome, Outcome::timeout);
  EXPECT_EQ(record.note, "no end of plan within 3.0 s");
}

TEST_F(Isolation, TurnedOffEndsWithTheDeviceThatOneCandidateLost) {
  options_.isolate = false;
  task_.group.algorithms = {"faulty.lost.verify.cpu", "plain.cpu"};
  const GroupEnd end = run();
  EXPECT_EQ(end.kind, GroupEnd::Kind::device_lost);
  EXPECT_THAT(end.left, ElementsAre("plain.cpu"));
  EXPECT_THAT(end.why, HasSubstr("an illegal memory access"));
  EXPECT_EQ(sink_.records["faulty.lost.verify.cpu"].outcome, Outcome::crashed);
}

TEST_F(Isolation, StopsAtOnceWhenAskedTo) {
  task_.group.algorithms = {"faulty.loop.verify.cpu"};
  task_.protocol.sampling.stage_limit_seconds = 1000;
  testing::CollectingSink sink([](Stage stage) {
    if (stage == Stage::verify) raise(SIGINT);
  });
  EXPECT_EQ(run_isolated(task_, registry_, {}, {}, options_, stop_, sink).kind, GroupEnd::Kind::stopped);
  EXPECT_THAT(sink.records, SizeIs(0));
  EXPECT_TRUE(stop_.requested());
}

TEST_F(Isolation, StopsAtOnceWhileACandidateIsMeasured) {
  task_ = testing::small_task(1000);
  task_.protocol.sampling.min_samples = task_.protocol.sampling.max_samples = 1'000'000'000;
  task_.group.algorithms = {"plain.cpu"};
  testing::CollectingSink sink([](Stage stage) {
    if (stage == Stage::measure) raise(SIGINT);
  });
  EXPECT_EQ(run_isolated(task_, registry_, {}, {}, options_, stop_, sink).kind, GroupEnd::Kind::stopped);
  EXPECT_THAT(sink.records, SizeIs(0));
}

TEST_F(Isolation, TurnedOffGivesTheSameRows) {
  options_.isolate = false;
  options_.executable = "/bin/false";
  EXPECT_EQ(run_beside_plain("faulty.throw.verify.cpu").outcome, Outcome::failed);
}

TEST_F(Isolation, MeasuresCeilingsInAWorker) {
  const auto ceilings = measure_ceilings_isolated(DeviceKind::cpu, 1, 0, registry_, options_, stop_);
  ASSERT_TRUE(ceilings);
  EXPECT_EQ(ceilings->ceilings.threads, 1);
  EXPECT_GT(ceilings->ceilings.fma_flops, 0);
}

TEST_F(Isolation, SaysWhatKeptTheCeilingsFromBeingMeasured) {
  const testing::FaultyDevice device("!!");
  try {
    measure_ceilings_isolated(DeviceKind::cpu, 1, 0, registry_, options_, stop_);
    FAIL() << "the device was busy";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "the ceilings of cpu are unknown: CUDA-capable device(s) is/are busy or unavailable");
  }
}

}  // namespace
}  // namespace convscope
