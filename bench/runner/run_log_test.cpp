#include "bench/runner/run_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/core/error.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/runner/run_suite.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

class RunLogTest : public ::testing::Test {
 protected:
  static GroupTask task(const std::string& layer) {
    GroupTask task = testing::small_task(2.5);
    task.group.common.layer = layer;
    task.protocol.sampling.stage_limit_seconds = 45;
    task.group.common.workspace_cap = std::nullopt;
    task.group.algorithms = {"a.cpu", "b.cpu"};
    return task;
  }

  static RunPlan plan() {
    RunPlan plan;
    plan.argv = {"convscope", "run", "net.json"};
    plan.config = nlohmann::ordered_json::array({{{"name", "net"}}});
    plan.environment = {{"started", "now"}};
    plan.tasks = {task("one"), task("two")};
    return plan;
  }

  static ResultRecord record(const std::string& layer, const std::string& algorithm, Outcome outcome) {
    AlgorithmInfo info;
    info.id = algorithm;
    ResultRecord record = blank_record(task(layer), info, {}, {});
    record.outcome = outcome;
    return record;
  }

  testing::TemporaryFolder temporary_;
  std::string folder_ = temporary_.path().string();
};

TEST_F(RunLogTest, OpenedAgainKnowsWhatIsLeft) {
  {
    RunLog log(folder_, plan());
    log.add(record("one", "a.cpu", Outcome::measured));
    log.add(record("one", "b.cpu", Outcome::unsupported));
    log.add(record("two", "b.cpu", Outcome::crashed));
    Ceilings ceilings;
    ceilings.threads = 3;
    log.add(ceilings);
  }
  const RunLog log = RunLog::open(folder_);
  EXPECT_THAT(log.records(), SizeIs(3));
  ASSERT_THAT(log.ceilings(), SizeIs(1));
  EXPECT_EQ(log.ceilings()[0].threads, 3);
  const std::vector<GroupTask> left = log.tasks_left();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].group.common.layer, "two");
  EXPECT_THAT(left[0].group.algorithms, ElementsAre("a.cpu"));
  EXPECT_EQ(left[0].protocol.sampling.time_limit_seconds, 2.5);
  EXPECT_EQ(left[0].protocol.sampling.stage_limit_seconds, 45);
  EXPECT_EQ(left[0].group.common.problem, task("two").group.common.problem);
  EXPECT_EQ(left[0].group.common.workspace_cap, std::nullopt);
}

TEST_F(RunLogTest, CutShortByAKillLosesOnlyTheUnfinishedLine) {
  {
    RunLog log(folder_, plan());
    log.add(record("one", "a.cpu", Outcome::measured));
    log.add(record("one", "b.cpu", Outcome::measured));
  }
  const fs::path journal = fs::path(folder_) / "journal.jsonl";
  fs::resize_file(journal, fs::file_size(journal) - 10);
  {
    RunLog log = RunLog::open(folder_);
    EXPECT_THAT(log.records(), SizeIs(1));
    log.add(record("one", "b.cpu", Outcome::wrong));
  }
  const RunLog log = RunLog::open(folder_);
  ASSERT_THAT(log.records(), SizeIs(2));
  EXPECT_EQ(log.records()[1].outcome, Outcome::wrong);
}

TEST_F(RunLogTest, RefusesAFolderThatHoldsARun) {
  { RunLog log(folder_, plan()); }
  EXPECT_THAT([&] { RunLog(folder_, plan()); }, ThrowsMessage<UsageError>(HasSubstr("--resume")));
}

TEST_F(RunLogTest, BeginsInAFolderWhereAKillCutTheFirstLineShort) {
  { RunLog log(folder_, plan()); }
  const fs::path journal = fs::path(folder_) / "journal.jsonl";
  fs::resize_file(journal, fs::file_size(journal) - 1);
  EXPECT_THAT([&] { RunLog::open(folder_); }, ThrowsMessage<UsageError>(HasSubstr("--out")));
  { RunLog log(folder_, plan()); }
  EXPECT_THAT(RunLog::open(folder_).plan().tasks, SizeIs(2));
}

TEST_F(RunLogTest, RefusesAFolderOfResultsWithoutAJournal) {
  fs::create_directories(folder_);
  std::ofstream(fs::path(folder_) / "results.json") << "{}";
  EXPECT_THAT([&] { RunLog(folder_, plan()); }, ThrowsMessage<UsageError>(HasSubstr("holds results")));
  EXPECT_FALSE(fs::exists(fs::path(folder_) / "journal.jsonl"));
}

TEST_F(RunLogTest, SaysThatTheJournalHasEverythingWhenAFileCannotBeWritten) {
  RunLog log(folder_, plan());
  fs::create_directories(fs::path(folder_) / "results.csv.writing");
  try {
    log.write_files();
    FAIL() << "a folder was in the file's place";
  } catch (const UsageError& error) {
    FAIL() << "not the user's fault: " << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("results.csv"), HasSubstr("the journal has everything")));
  }
}

TEST_F(RunLogTest, RefusesToOpenWhatIsNoRun) {
  EXPECT_THROW(RunLog::open(folder_), UsageError);
  fs::create_directories(folder_);
  std::ofstream(fs::path(folder_) / "journal.jsonl") << "{\"kind\": \"shopping\"}\n";
  EXPECT_THAT([&] { RunLog::open(folder_); }, ThrowsMessage<UsageError>(HasSubstr("journal.jsonl")));
}

TEST_F(RunLogTest, NamesThePartOfAJournalThatIsOfAnotherKind) {
  { RunLog log(folder_, plan()); }
  const fs::path journal = fs::path(folder_) / "journal.jsonl";
  nlohmann::ordered_json first = nlohmann::ordered_json::parse(std::ifstream(journal));
  first["environment"] = nullptr;
  std::ofstream(journal) << first.dump() << "\n";
  EXPECT_THAT([&] { RunLog::open(folder_); },
              ThrowsMessage<UsageError>(HasSubstr("journal.jsonl: its first line has null as environment")));
}

TEST_F(RunLogTest, NamesTheLineOfAJournalThatIsWrong) {
  { RunLog log(folder_, plan()); }
  const fs::path journal = fs::path(folder_) / "journal.jsonl";
  const std::string first = read_file(journal.string());
  const auto error = [&](const std::string& second) {
    std::ofstream(journal) << first << second << "\n";
    return testing::error_of([&] { RunLog::open(folder_); });
  };
  for (const char* second :
       {R"({"kind": "record"})", R"({"kind": "record", "record": 1})",
        R"({"kind": "ceilings", "ceilings": []})", R"({"kind": "resumed"})",
        R"({"kind": "benchmark", "group": 1, "report": {}})",
        R"({"kind": "benchmark", "group": "g", "report": {"context": {}, "benchmarks": [{"name": 1}]}})",
        R"({"kind": "benchmark", "group": "g", "report": {"context": {}, "benchmarks": 1}})"})
    EXPECT_THAT(error(second),
                AllOf(HasSubstr("journal.jsonl:2: "), ::testing::Not(HasSubstr("json.exception"))))
        << second;
  EXPECT_THAT(error(std::string(200'000, '[')), HasSubstr("nested more than 128 deep"));
  EXPECT_EQ(error(R"({"kind": 1})"), "") << "a kind that nobody knows is passed over";
}

TEST_F(RunLogTest, WritesRecordsInTheOrderOfThePlan) {
  RunLog log(folder_, plan());
  log.add(record("two", "b.cpu", Outcome::measured));
  log.add(record("one", "b.cpu", Outcome::wrong));
  log.add(record("one", "a.cpu", Outcome::measured));
  log.add(BenchmarkReport{
      "g", {{"context", {{"date", "today"}}}, {"benchmarks", nlohmann::ordered_json::array()}}});
  log.add_resumption({{"started", "later"}});
  log.write_files();
  const ResultFile file = read_results(folder_);
  ASSERT_THAT(file.records, SizeIs(3));
  EXPECT_EQ(file.records[0].key.algorithm, "a.cpu");
  EXPECT_EQ(file.records[1].key.algorithm, "b.cpu");
  EXPECT_EQ(file.records[2].key.layer, "two");
  EXPECT_EQ(file.argv, plan().argv);
  EXPECT_EQ(file.environment.at("resumed").at(0).at("started"), "later");
  EXPECT_TRUE(file.environment.contains("ended"));
  EXPECT_EQ(file.environment.at("complete"), false);
  log.add(record("two", "a.cpu", Outcome::measured));
  log.write_files();
  EXPECT_EQ(read_results(folder_).environment.at("complete"), true);
  EXPECT_TRUE(fs::exists(fs::path(folder_) / "results.csv"));
  EXPECT_TRUE(fs::exists(fs::path(folder_) / "benchmark.json"));
}

TEST_F(RunLogTest, CountsACandidateThatTheJournalHasTwiceOnce) {
  {
    RunLog log(folder_, plan());
    log.add(record("one", "a.cpu", Outcome::wrong));
    log.add(record("one", "b.cpu", Outcome::measured));
    log.add(record("one", "a.cpu", Outcome::measured));
    EXPECT_THAT(log.records(), SizeIs(2));
  }
  const RunLog log = RunLog::open(folder_);
  ASSERT_THAT(log.records(), SizeIs(2));
  EXPECT_EQ(log.records()[1].outcome, Outcome::measured);
}

TEST_F(RunLogTest, TakesTheBestOfSeveralCeilingsForEarlierRecordsToo) {
  Ceilings first, second, other;
  first.threads = second.threads = 2;
  first.fma_flops = 1e9;
  first.read_bytes = 4e9;
  second.fma_flops = 2e9;
  second.read_bytes = 3e9;
  other.fma_flops = 9e9;
  const auto check = [&](const RunLog& log) {
    ASSERT_THAT(log.ceilings(), SizeIs(2));
    for (const Ceilings& best : {log.ceilings().front(), log.records().front().ceilings}) {
      EXPECT_EQ(best.fma_flops, 2e9);
      EXPECT_EQ(best.read_bytes, 4e9);
    }
    EXPECT_EQ(log.ceilings().back().fma_flops, 9e9) << "of another thread count";
  };
  {
    RunLog log(folder_, plan());
    log.add(first);
    log.add(other);
    ResultRecord measured = record("one", "a.cpu", Outcome::measured);
    measured.ceilings = first;
    log.add(measured);
    log.add(second);
    check(log);
  }
  check(RunLog::open(folder_));
}

TEST(Failures, AreWhatTheExitCodeIsAbout) {
  for (Outcome outcome : {Outcome::wrong, Outcome::timeout, Outcome::crashed, Outcome::failed})
    EXPECT_TRUE(is_failure(outcome)) << name(outcome);
  for (Outcome outcome : {Outcome::measured, Outcome::verified_only, Outcome::unsupported,
                          Outcome::over_workspace, Outcome::out_of_memory})
    EXPECT_FALSE(is_failure(outcome)) << name(outcome);
}

}  // namespace
}  // namespace convscope
