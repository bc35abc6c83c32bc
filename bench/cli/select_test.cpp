// select and policies over the results that are in the repository, and their bad input.
#include "bench/cli/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/cli/choose.hpp"
#include "bench/cli/options.hpp"
#include "bench/cli/policies.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const std::string kSource = CONVSCOPE_SOURCE_FOLDER;

// AlexNet on a CPU, backward-data of the first layer not run: as `convscope-report keep` keeps a run.
std::string committed_results() {
  return kSource + "/results/amd-zen4-2-cores/alexnet.json.xz";
}

Json selected(const std::vector<std::string>& results, const std::vector<std::string>& choosers = {}) {
  std::ostringstream out;
  select_results(out, {results, choosers, true});
  return Json::parse(out.str());
}

Json priced(const std::string& results) {
  std::ostringstream out;
  print_policy_times(out, {{results}, {kSource + "/configs/policies"}, true});
  return Json::parse(out.str());
}

TEST(Select, JudgesOneDnnsChoiceOnTheCommittedResults) {
  const Json json = selected({committed_results()});
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
  const std::string results = committed_results();
  const Json judgement = selected({results, results})["networks"][0]["choosers"][0]["judgements"][0];
  EXPECT_EQ(judgement["repeats"], 2);
  EXPECT_EQ(judgement["implementations"], 1);
  EXPECT_EQ(judgement["spread"], 0);
}

TEST(Select, JudgesWhoeverIsNamed) {
  const Json json = selected({committed_results()}, {"direct", "absent"});
  ASSERT_EQ(json["networks"][0]["choosers"].size(), 1u);
  EXPECT_EQ(json["networks"][0]["choosers"][0]["algorithm"], "direct.cpu");
}

TEST(Select, SaysWhichFileCannotBeRead) {
  std::ostringstream out;
  EXPECT_THROW(select_results(out, {{"/nowhere"}, {}, false}), UsageError);
}

TEST(Policies, AddUpTheCommittedResults) {
  const Json json = priced(committed_results());
  ASSERT_EQ(json.size(), 1u);
  std::map<std::string, Json> by_name;
  for (const Json& policy : json[0]["policies"]) by_name[policy["policy"]] = policy;
  const Json& own = by_name["cpu_onednn"];
  EXPECT_EQ(own["label"], "policy emulation on onednn 2.6.3 OpenMP");
  // conv1's backward-data was not run: a step without it has a sum, one with it has none and says so.
  EXPECT_NEAR(own["step_without_first_backward_data"]["seconds"].get<double>(), 0.3850, 1e-4);
  EXPECT_TRUE(own["step"]["seconds"].is_null());
  EXPECT_EQ(own["step"]["missing"], Json::array({"conv1 backward_data: no records of fp32 nchw"}));
  EXPECT_NEAR(own["forward"]["seconds"].get<double>(), 0.1321, 1e-4);
  const double best = by_name["best_of_all"]["step_without_first_backward_data"]["seconds"];
  EXPECT_NEAR(best, 0.1590, 1e-4);
  EXPECT_NEAR(by_name["cpu_onednn_profiled"]["speed_up_over_default"].get<double>(), 0.3850 / 0.3825, 1e-3);
  EXPECT_NEAR(by_name["cpu_im2col_gemm"]["step_without_first_backward_data"]["seconds"].get<double>(), 0.6605,
              1e-3);
  EXPECT_TRUE(by_name["caffe"]["label"].is_null());
  EXPECT_EQ(by_name["caffe"]["forward"]["missing"].size(), 5u);
}

TEST(Policies, FindTheFirstLayersInMergedConfigsToo) {
  const Json config = Json::parse(
      R"([[{"name": "a", "layers": [{"name": "x", "first": true}, {"name": "y"}]}], {"name": "b", "layers": 3}])");
  EXPECT_EQ(first_layers(config), (FirstLayers{{"a", "x"}}));
  EXPECT_TRUE(first_layers(nullptr).empty());
}

TEST(Choose, OnTheCommittedResultsHasLessRegretThanTheLibrary) {
  std::ostringstream out;
  ChooseOptions options;
  options.results = {committed_results()};
  options.json = true;
  choose(out, options, Registry());
  const Json scores = Json::parse(out.str())[0]["scores"];
  EXPECT_EQ(scores["own"]["judged"], 14);
  EXPECT_LT(scores["own"]["regret"].get<double>(), 0.05);
  EXPECT_NEAR(scores["onednn.auto.cpu"]["regret"].get<double>(), 0.3850 / 0.1590 - 1, 1e-3);
}

TEST(Choose, NeedsAConfigOrResultsAndNotBoth) {
  const auto message = [](std::vector<std::string> words) -> std::string {
    words.insert(words.begin(), {"convscope", "choose"});
    try {
      parse_command(words);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message({}), HasSubstr("needs a CONFIG or --results"));
  EXPECT_THAT(message({"a.json", "--results", "out"}), HasSubstr("leave out CONFIG"));
  EXPECT_THAT(message({"--results", "out", "--batch", "1"}), HasSubstr("leave out --batch"));
  EXPECT_EQ(message({"--results", "out,other", "--json"}), "no error");
  EXPECT_EQ(message({"a.json", "--batch", "1"}), "no error");
}

TEST(SelectOptions, TakeSeveralResultsAndChoosers) {
  const auto options = std::get<SelectOptions>(
      parse_command({"convscope", "select", "a", "b", "--chooser", "x,y", "--chooser", "z", "--json"}));
  EXPECT_EQ(options.results, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.choosers, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_TRUE(options.json);
  EXPECT_THROW(parse_command({"convscope", "select"}), UsageError);
  const auto policies =
      std::get<PoliciesOptions>(parse_command({"convscope", "policies", "a", "--policy", "p.json,q.json"}));
  EXPECT_EQ(policies.policies.size(), 2u);
}

}  // namespace
}  // namespace convscope
