// bench/runner/run_suite over several groups with real child processes (convscope_faulty): who is left out
// after failing again and again, and what becomes of a device that cannot be had.
#include "bench/runner/run_suite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "algorithms/catalog.hpp"
#include "bench/cli/faulty/faulty_algorithms.hpp"
#include "bench/cli/faulty/faulty_device.hpp"
#include "bench/record/bound.hpp"
#include "bench/record/columns.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

#ifdef __SANITIZE_ADDRESS__
constexpr double kShortLimit = 10;
#else
constexpr double kShortLimit = 2;
#endif
constexpr double kLimitOfCeilings = 60;  // which a busy machine takes its time to measure

class Observer final : public RunObserver {
 public:
  void group_begins(const GroupTask&) override {}
  void candidate_begins(const std::string& algorithm, Stage stage) override {
    begun.push_back(algorithm + " " + std::string(name(stage)));
  }
  void candidate_ends(const ResultRecord&) override { ++ended; }
  void group_ends(std::span<const ResultRecord> records) override { groups.push_back(records.size()); }
  void warn(const std::string& sentence) override { warnings.push_back(sentence); }

  std::vector<std::string> begun, warnings;
  std::vector<size_t> groups;
  size_t ended = 0;
};

class SuiteOfFaults : public ::testing::Test {
 protected:
  SuiteOfFaults() {
    register_all(registry_);
    add_faulty(registry_);
    options_.executable = CONVSCOPE_FAULTY;
    options_.retry_seconds = 0;
  }

  // Verified only: nothing here is about times.
  static RunPlan plan(const std::vector<std::string>& layers, const std::vector<std::string>& algorithms) {
    RunPlan plan;
    plan.argv = {"convscope", "verify"};
    for (const std::string& layer : layers) {
      GroupTask task = testing::small_task(0.1);
      task.protocol.measure = false;
      task.protocol.sampling.stage_limit_seconds = kShortLimit;
      task.group.common.layer = layer;
      task.group.algorithms = algorithms;
      plan.tasks.push_back(task);
    }
    return plan;
  }

  SuiteEnd run(RunLog& log) { return run_suite(log, registry_, options_, stop_, observer_); }

  static std::vector<Outcome> outcomes(const RunLog& log, const std::string& algorithm) {
    std::vector<Outcome> found;
    for (const ResultRecord& record : log.records())
      if (record.key.algorithm == algorithm) found.push_back(record.outcome);
    return found;
  }

  testing::TemporaryFolder temporary_;
  std::string folder_ = temporary_.path().string();
  StopSignal stop_;
  Registry registry_;
  IsolationOptions options_;
  Observer observer_;
};

TEST_F(SuiteOfFaults, LeavesOutWhoCrashedTwiceAndSaysWhenAndHow) {
  RunLog log(folder_, plan({"one", "two", "three", "four"}, {"faulty.abort.plan.cpu", "plain.cpu"}));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(outcomes(log, "faulty.abort.plan.cpu"),
              ElementsAre(Outcome::crashed, Outcome::crashed, Outcome::unsupported, Outcome::unsupported));
  EXPECT_THAT(outcomes(log, "plain.cpu"), AllOf(SizeIs(4), Each(Outcome::verified_only)));
  const ResultRecord left_out = log.records_of(log.plan().tasks[2].group).front();
  EXPECT_EQ(left_out.reason, Reason::left_out_after_failures);
  EXPECT_THAT(left_out.note, AllOf(HasSubstr("crashed in one forward"), HasSubstr("crashed in two forward"),
                                   HasSubstr("during plan")));
  EXPECT_THAT(observer_.groups, ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(observer_.ended, 8u);
}

TEST_F(SuiteOfFaults, MeasuresCeilingsAgainThatARecordBeats) {
  RunPlan measuring = plan({"one"}, {"plain.cpu"});
  measuring.tasks.front().protocol.measure = true;
  measuring.tasks.front().protocol.sampling.stage_limit_seconds = kLimitOfCeilings;
  RunLog log(folder_, std::move(measuring));
  Ceilings low;  // as if something had disturbed them
  low.threads = log.plan().tasks.front().group.common.threads;
  low.fma_flops = low.read_bytes = low.copy_bytes = low.cache_read_bytes = 1;
  log.add(low);
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  ASSERT_THAT(log.ceilings(), SizeIs(1));
  EXPECT_GT(log.ceilings().front().fma_flops, 1e6);
  ASSERT_THAT(outcomes(log, "plain.cpu"), ElementsAre(Outcome::measured));
  EXPECT_FALSE(beats_its_ceilings(log.records().front()));
  EXPECT_THAT(observer_.warnings, IsEmpty());
}

TEST_F(SuiteOfFaults, MarksARecordThatBeatsCeilingsMeasuredAgainAndWarns) {
  RunPlan measuring = plan({"one"}, {"plain.cpu", "faulty.boast.plan.cpu"});
  measuring.tasks.front().protocol.measure = true;
  measuring.tasks.front().protocol.sampling.stage_limit_seconds = kLimitOfCeilings;
  RunLog log(folder_, std::move(measuring));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(observer_.warnings, ElementsAre(AllOf(HasSubstr("one forward: a record is at "),
                                                    HasSubstr("measured again 2 times"))));
  const auto mark = std::ranges::find(columns(), std::string_view("suspect_ceiling"), &Column::name);
  ASSERT_NE(mark, columns().end());
  std::map<std::string, std::string> marks;
  for (const ResultRecord& record : log.records())
    marks[record.key.algorithm] = cell_text(mark->cell(record));
  EXPECT_EQ(marks,
            (std::map<std::string, std::string>{{"plain.cpu", "false"}, {"faulty.boast.plan.cpu", "true"}}));
}

TEST_F(SuiteOfFaults, LeavesOutWhoHungTwice) {
  RunLog log(folder_, plan({"one", "two", "three"}, {"faulty.loop.plan.cpu"}));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(outcomes(log, "faulty.loop.plan.cpu"),
              ElementsAre(Outcome::timeout, Outcome::timeout, Outcome::unsupported));
  EXPECT_THAT(observer_.begun, SizeIs(2));
}

TEST_F(SuiteOfFaults, NeverLeavesOutWhoFailsOrIsWrong) {
  RunLog log(folder_, plan({"one", "two", "three"}, {"faulty.throw.plan.cpu", "faulty.infinity.verify.cpu"}));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(outcomes(log, "faulty.throw.plan.cpu"), AllOf(SizeIs(3), Each(Outcome::failed)));
  EXPECT_THAT(outcomes(log, "faulty.infinity.verify.cpu"), AllOf(SizeIs(3), Each(Outcome::wrong)));
}

TEST_F(SuiteOfFaults, RemembersTheFailuresOfAnInterruptedRun) {
  const RunPlan whole = plan({"one", "two", "three"}, {"faulty.abort.plan.cpu"});
  {
    RunLog log(folder_, whole);
    for (const char* layer : {"one", "two"}) {
      GroupTask task = whole.tasks.front();
      task.group.common.layer = layer;
      ResultRecord record = blank_record(task, registry_.find("faulty.abort.plan.cpu")->info(), {}, {});
      record.outcome = Outcome::crashed;
      record.reason = Reason::crashed;
      log.add(record);
    }
  }
  RunLog log = RunLog::open(folder_);
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(observer_.begun, IsEmpty());
  EXPECT_EQ(log.records().back().reason, Reason::left_out_after_failures);
}

TEST_F(SuiteOfFaults, FailsOnlyTheGroupForWhichTheDeviceCouldNotBeHad) {
  const testing::FaultyDevice device(".!!.");
  RunLog log(folder_, plan({"one", "two", "three"}, {"plain.cpu"}));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(log.tasks_left(), IsEmpty());
  const auto two = log.records_of(log.plan().tasks[1].group);
  ASSERT_THAT(two, SizeIs(1));
  EXPECT_EQ(two[0].outcome, Outcome::failed);
  EXPECT_EQ(two[0].note,
            "no worker could begin, tried twice: CUDA-capable device(s) is/are busy or unavailable");
  EXPECT_FALSE(two[0].device.name.empty());
  for (size_t i : {size_t{0}, size_t{2}})
    EXPECT_EQ(log.records_of(log.plan().tasks[i].group).at(0).outcome, Outcome::verified_only) << i;
  EXPECT_THAT(observer_.warnings, ElementsAre(HasSubstr("no worker could begin two forward on cpu")));
  EXPECT_THAT(observer_.groups, SizeIs(3));
}

TEST_F(SuiteOfFaults, FailsTheLastGroupTooWhereTheDeviceCouldNotBeHad) {
  const testing::FaultyDevice device(".!!");
  RunLog log(folder_, plan({"one", "two"}, {"plain.cpu"}));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(outcomes(log, "plain.cpu"), ElementsAre(Outcome::verified_only, Outcome::failed));
}

TEST_F(SuiteOfFaults, EndsWithALostDeviceAndLeavesItsGroupsToAResumedRun) {
  {
    const testing::FaultyDevice device("." + std::string(100, '!'));
    RunLog log(folder_, plan({"one", "two", "three", "four", "five", "six"}, {"plain.cpu"}));
    const SuiteEnd end = run(log);
    EXPECT_EQ(end.kind, SuiteEnd::Kind::device_lost);
    EXPECT_EQ(end.why, "the device cpu was lost: CUDA-capable device(s) is/are busy or unavailable");
    EXPECT_THAT(observer_.warnings, SizeIs(kGroupsBeforeLost));
  }
  EXPECT_THAT(read_results(folder_).records, SizeIs(1));
  RunLog log = RunLog::open(folder_);
  EXPECT_THAT(log.tasks_left(), SizeIs(5));
  EXPECT_EQ(run(log).kind, SuiteEnd::Kind::finished);
  EXPECT_THAT(log.records(), AllOf(SizeIs(6), Each(Field(&ResultRecord::outcome, Outcome::verified_only))));
}

TEST_F(SuiteOfFaults, WithoutIsolationEndsWithTheDeviceThatACandidateLost) {
  options_.isolate = false;
  RunLog log(folder_, plan({"one", "two"}, {"plain.cpu", "faulty.lost.verify.cpu", "faulty.throw.plan.cpu"}));
  const SuiteEnd end = run(log);
  EXPECT_EQ(end.kind, SuiteEnd::Kind::device_lost);
  EXPECT_THAT(end.why, AllOf(HasSubstr("the device cpu was lost"), HasSubstr("an illegal memory access")));
  EXPECT_THAT(outcomes(log, "faulty.lost.verify.cpu"), ElementsAre(Outcome::crashed));
  EXPECT_THAT(outcomes(log, "faulty.throw.plan.cpu"), ElementsAre(Outcome::failed));
  EXPECT_THAT(read_results(folder_).records, SizeIs(2));
}

}  // namespace
}  // namespace convscope
