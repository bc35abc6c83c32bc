// What is printed, and the JSON.
#include "bench/select/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/ranking/test_contests.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ResultRecord> two_layers() {
  std::vector<ResultRecord> records{right("ours.cpu", 0.010), library_record("onednn.auto.cpu", 0.015, "jit"),
                                    wrong_record("wrong.cpu", 0.005), right("ours.cpu", 0.020, "conv3")};
  records.push_back(refused("onednn.auto.cpu", Outcome::unsupported, Reason::unsupported_groups, "no"));
  records.back().key.layer = "conv3";
  return records;
}

std::string printed(const std::vector<ResultRecord>& records, size_t columns = 200) {
  std::ostringstream out;
  print_selection(out, select(records, default_choosers()), {false, columns});
  return out.str();
}

TEST(Selection, OfNoRecordsSaysSo) {
  EXPECT_EQ(printed({}), "no records\n");
  EXPECT_TRUE(to_json(select({}, default_choosers()))["networks"].empty());
}

TEST(Selection, PrintsOracleRegretAndWhatIsInNoSum) {
  const std::string text = printed(two_layers());
  EXPECT_THAT(text, HasSubstr("conv2 forward       1  ours.cpu      10.00"));
  EXPECT_THAT(text, HasSubstr("wrong.cpu 5.000 ms, error 1.2e-06"));
  EXPECT_THAT(text, HasSubstr("50.0%"));
  EXPECT_THAT(text, HasSubstr("in no sum of onednn.auto.cpu: conv3 forward (unsupported_groups)"));
}

TEST(Selection, LeavesOutWhatDoesNotFitTheLineAndNamesIt) {
  const std::string text = printed(two_layers(), 60);
  EXPECT_THAT(text, HasSubstr("left out to fit 60 columns: records, wrong, best at any\n"));
  EXPECT_THAT(text, Not(HasSubstr("wrong.cpu 5.000 ms")));
}

TEST(Selection, ASumWithASuspectRecordSaysSo) {
  std::vector<ResultRecord> records = two_layers();
  EXPECT_THAT(printed(records), Not(HasSubstr("suspect")));
  records[1].health.throttled = true;
  EXPECT_THAT(printed(records), HasSubstr("onednn.auto.cpu all passes (suspect)"));
}

TEST(Selection, WithoutAChooserThereIsNoRegretButACurve) {
  const std::string text = printed({right("ours.cpu", 0.010)});
  EXPECT_THAT(text, HasSubstr("no record is a library's own choice"));
  EXPECT_THAT(text, HasSubstr("workspace curve of alexnet, batch 16"));
  EXPECT_THAT(text, HasSubstr("Pareto front of conv2 forward: ours.cpu 10.00 ms 3.0 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("top-1")));
}

TEST(Selection, AContestWithoutARightRecordIsPrintedToo) {
  const std::string text = printed({wrong_record("wrong.cpu", 1)});
  EXPECT_THAT(text, HasSubstr("no right, timed record"));
  EXPECT_THAT(text, HasSubstr("wrong.cpu 1000 ms"));
}

TEST(Selection, WhereNoRecordHasATimeNoneIsTheBestAtAnyError) {
  const auto none = refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, "no");
  EXPECT_THAT(printed({none}), HasSubstr("no right, timed record"));
  EXPECT_THAT(printed({none}), Not(HasSubstr("same")));
}

TEST(Selection, TheJsonHasTheSameFigures) {
  const auto records = two_layers();
  const auto json = to_json(select(records, default_choosers()));
  const auto& network = json.at("networks").at(0);
  EXPECT_EQ(network["oracles"][0]["oracle"]["algorithm"], "ours.cpu");
  EXPECT_EQ(network["oracles"][0]["best_at_any_error"]["algorithm"], "wrong.cpu");
  const auto& chooser = network["choosers"][0];
  EXPECT_NEAR(chooser["judgements"][0]["regret"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(chooser["judgements"][1]["missing"], "unsupported_groups");
  EXPECT_EQ(chooser["scores"]["all"]["judged"], 1);
  EXPECT_EQ(json["workspace_curves"].size(), 2u);
  EXPECT_EQ(json["workspace_curves"][0]["points"].size(), kCurveCaps.size());
}

TEST(Selection, EachChoiceInTheJsonSaysOfWhichProblemItIsAndHowOftenTheNetworkHasIt) {
  std::vector<ResultRecord> records = two_layers();
  for (ResultRecord& record : records) record.key.count = 3;
  const Selection selection = select(records, default_choosers());
  const auto json = to_json(selection);
  const auto& network = json.at("networks").at(0);
  const auto predicted = predictions_json(selection).at(0);
  for (const auto& layers : {network["oracles"], network["choosers"][0]["judgements"],
                             json["workspace_curves"], predicted["choices"]})
    for (size_t i = 0; i < 2; ++i) {  // the second judgement is of a choice that is missing
      EXPECT_EQ(layers.at(i).at("count"), 3);
      EXPECT_EQ(layers.at(i).at("problem"), to_line(records[0].key.problem));
    }
}

TEST(Selection, TheJsonTellsEpiloguesAndClassesOfMachinesApart) {
  std::vector<ResultRecord> records{right("a.cpu", 1), right("a.cpu", 2)};
  records[1].key.problem.epilogue = Epilogue::bias_relu;
  records[1].device.machine_class = "";
  const auto json = to_json(select(records, default_choosers()));
  for (const char* part : {"networks", "workspace_curves"}) {
    ASSERT_EQ(json[part].size(), 2u);
    EXPECT_EQ(json[part][0]["epilogue"], "none");
    EXPECT_EQ(json[part][0]["machine_class"], "amd-f25m17s1-1234abcd");
    EXPECT_EQ(json[part][1]["epilogue"], "bias+relu");
    EXPECT_TRUE(json[part][1]["machine_class"].is_null());
  }
}

}  // namespace
}  // namespace convscope
