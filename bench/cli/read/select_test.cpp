// The verb `select` over results that are in the repository, and its bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;
using testing::kKeptRun;

Json selected(std::vector<std::string> words) {
  words.insert(words.begin(), "select");
  words.emplace_back("--json");
  return Json::parse(testing::run_program(words));
}

TEST(Select, JudgesOneDnnsChoiceOnTheCommittedResults) {
  const Json json = selected({kKeptRun});
  ASSERT_EQ(json["networks"].size(), 1u);
  const Json& network = json["networks"][0];
  EXPECT_EQ(network["oracles"].size(), 14u);  // five layers, three passes, no backward-data of conv1
  ASSERT_EQ(network["choosers"].size(), 1u);
  const Json& chooser = network["choosers"][0];
  EXPECT_EQ(chooser["algorithm"], "onednn.auto.cpu");
  const Json& all = chooser["scores"]["all"];
  EXPECT_EQ(all["judged"], 14);
  EXPECT_EQ(all["missing"], 0);
  EXPECT_NEAR(all["seconds"].get<double>(), 0.3850, 1e-4);  // as the run's console.txt has it
  EXPECT_NEAR(all["oracle_seconds"].get<double>(), 0.1590, 1e-4);
  EXPECT_NEAR(all["library_seconds"].get<double>(), 0.3825, 1e-4);
  EXPECT_NEAR(all["regret"].get<double>(), 0.3850 / 0.1590 - 1, 1e-3);
  EXPECT_EQ(json["workspace_curves"].size(), 14u);
}

TEST(Select, OfSeveralFilesCountsRepeats) {
  const Json judgement = selected({kKeptRun, kKeptRun})["networks"][0]["choosers"][0]["judgements"][0];
  EXPECT_EQ(judgement["repeats"], 2);
  EXPECT_EQ(judgement["implementations"], 1);
  EXPECT_EQ(judgement["spread"], 0);
}

TEST(Select, JudgesWhoeverIsNamed) {
  const Json json = selected({kKeptRun, "--chooser", "direct"});
  ASSERT_EQ(json["networks"][0]["choosers"].size(), 1u);
  EXPECT_EQ(json["networks"][0]["choosers"][0]["algorithm"], "direct.cpu");
}

TEST(Select, TakesSeveralLists) {
  const Json json = selected({kKeptRun, "--chooser", "direct,fft16", "--chooser", "onednn.auto"});
  EXPECT_EQ(json["networks"][0]["choosers"].size(), 3u);
}

TEST(Select, RefusesAChooserThatNoRecordHas) {
  const std::vector<std::string> words{"select", kKeptRun, "--chooser", "direct,onednn.aut"};
  EXPECT_THAT(testing::error_of([&] { testing::run_program(words); }),
              ::testing::HasSubstr("--chooser: no record is of \"onednn.aut\"; did you mean"));
}

TEST(Select, SaysWhichFileCannotBeRead) {
  EXPECT_THROW(testing::run_program({"select", "/nowhere"}), UsageError);
  EXPECT_THROW(testing::run_program({"select"}), UsageError);
}

TEST(Csv, PrintsTheRecordsOfEveryFile) {
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto once = lines(testing::run_program({"csv", kKeptRun}));
  EXPECT_GT(once, 1);
  EXPECT_EQ(lines(testing::run_program({"csv", kKeptRun, kKeptRun})),
            2 * once - 1);  // one line is the header
}

}  // namespace
}  // namespace convscope
