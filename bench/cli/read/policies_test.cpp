// Policies from JSON, the shipped ones and wrong ones; and the verb over results that are in the repository.
#include "bench/cli/read/policies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "bench/cli/test_program.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/runner/config_value.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using testing::kKeptRun;

const std::string kFolder = std::string(CONVSCOPE_SOURCE_FOLDER) + "/configs/policies";

Policy policy_of(const std::string& text) {
  return policy_from_json(parse_json(text, "p.json"), "p.json");
}

std::string error_of(const std::string& text) {
  return testing::error_of([&] { policy_of(text); });
}

// A good policy with one more member.
std::string with(const std::string& member) {
  return R"({"name": "p", "source": "s", "library": "l", "algorithms": {"forward": ["a"]}, )" + member + "}";
}

TEST(PolicyFile, ReadsEveryField) {
  const Policy policy = policy_of(
      R"({"$schema": "schema.json", "name": "p", "title": "t", "framework": "f", "default": true, "source": "s",
          "unverified": "u", "library": "l", "workspace_cap": "8MiB", "layout": "nhwc", "math": "tf32",
          "take": "fastest", "algorithms": {"forward": "a", "backward_filter": ["b", "c"]}})");
  EXPECT_EQ(policy.name, "p");
  EXPECT_EQ(policy.framework, "f");
  EXPECT_TRUE(policy.is_default);
  EXPECT_EQ(policy.workspace_cap, Cap(int64_t{8} << 20));
  EXPECT_EQ(policy.layout, Layout::nhwc);
  EXPECT_EQ(policy.math, MathMode::tf32);
  EXPECT_EQ(policy.take, Take::fastest);
  EXPECT_THAT(policy.algorithms.at(Pass::backward_filter), ElementsAre("b", "c"));
  EXPECT_FALSE(policy.algorithms.contains(Pass::backward_data));
}

TEST(PolicyFile, HasTheKeysOfTheSchema) {
  const auto schema = read_json_file(kFolder + "/schema.json");
  std::set<std::string> keys;
  for (const auto& [key, value] : schema["properties"].items()) keys.insert(key);
  EXPECT_EQ(keys, std::set<std::string>(kPolicyKeys.begin(), kPolicyKeys.end()));
}

TEST(PolicyFile, WithoutACapHasNone) {
  EXPECT_EQ(policy_of(with(R"("take": "first")")).workspace_cap, Cap());
  EXPECT_TRUE(policy_of(with(R"("workspace_cap": "one_filter")")).cap_is_one_filter);
}

TEST(PolicyFile, AWrongOneIsToldWhereAndWhatIsAllowed) {
  EXPECT_THAT(error_of(with(R"("takes": "first")")),
              AllOf(HasSubstr("p.json: at /takes"), HasSubstr("did you mean \"take\"?")));
  EXPECT_THAT(error_of(with(R"("take": "firs")")),
              AllOf(HasSubstr("at /take: found the text \"firs\""), HasSubstr("did you mean \"first\"?")));
  EXPECT_THAT(error_of(with(R"("workspace_cap": "8MB")")),
              AllOf(HasSubstr("at /workspace_cap"), HasSubstr("one_filter")));
  EXPECT_THAT(error_of(with(R"("default": 1)")), HasSubstr("allowed is true or false"));
  EXPECT_THAT(error_of(R"({"name": "p", "source": "s", "library": "l"})"),
              HasSubstr("the key \"algorithms\" is missing"));
  EXPECT_THAT(error_of(R"({"name": "p", "source": "s", "library": "l", "algorithms": {}})"),
              HasSubstr("at /algorithms: found an empty object"));
  EXPECT_THAT(error_of(R"({"name": "p", "source": "s", "library": "l", "algorithms": {"foward": "a"}})"),
              AllOf(HasSubstr("at /algorithms/foward"), HasSubstr("did you mean \"forward\"?")));
  EXPECT_THAT(
      error_of(R"({"name": "p", "source": "s", "library": "l", "algorithms": {"forward": ["a", "a"]}})"),
      HasSubstr("at /algorithms/forward/1"));
  EXPECT_THAT(error_of("[]"), HasSubstr("at the top level"));
}

TEST(ShippedPolicies, AreAllValidAndCalledAsTheirFile) {
  const auto policies = load_policies({kFolder});
  EXPECT_EQ(policies.size(), 19u);
  for (const Policy& policy : policies) {
    EXPECT_EQ(load_policies({kFolder + "/" + policy.name + ".json"}).front().name, policy.name);
    EXPECT_FALSE(policy.source.empty()) << policy.name;
    EXPECT_FALSE(policy.title.empty()) << policy.name;
    EXPECT_FALSE(policy.framework.empty()) << policy.name;
  }
}

TEST(ShippedPolicies, HaveOneDefaultAFramework) {
  std::map<std::string, int> defaults;
  for (const Policy& policy : load_policies({kFolder})) defaults[policy.framework] += policy.is_default;
  for (const auto& [framework, count] : defaults) EXPECT_EQ(count, 1) << framework;
}

TEST(LoadPolicies, RefuseAFolderWithoutOneAPathThatIsNotThereAndANameTwice) {
  const auto message = [](const std::vector<std::string>& paths) {
    return testing::error_of([&] { load_policies(paths); });
  };
  EXPECT_THAT(message({kFolder + "/.."}), HasSubstr("unknown key"));  // a config is no policy
  EXPECT_THAT(message({"/nowhere/policy.json"}), HasSubstr("/nowhere/policy.json"));
  const std::string one = kFolder + "/caffe.json";
  EXPECT_THAT(message({one, one}), HasSubstr("\"caffe\""));
  const std::string empty = ::testing::TempDir() + "convscope_no_policies";
  std::filesystem::create_directories(empty);
  EXPECT_THAT(message({empty}), HasSubstr("no policy"));
}

Json priced(const std::string& policies) {
  return Json::parse(testing::run_program({"policies", kKeptRun, "--policy", policies, "--json"}));
}

TEST(Policies, AddUpTheCommittedResults) {
  const Json json = priced(kFolder);
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
  const Json damaged =
      Json::parse(R"({"name": 1, "layers": [{"first": "yes"}, {"first": true, "name": []}]})");
  EXPECT_EQ(first_layers(damaged), (FirstLayers{{"", ""}}));
}

TEST(Policies, MayBeNamedOneByOne) {
  const Json json = priced(kFolder + "/caffe.json," + kFolder + "/cpu_onednn.json");
  EXPECT_EQ(json[0]["policies"].size(), 2u);
}

}  // namespace
}  // namespace convscope
