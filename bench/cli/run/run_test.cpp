#include "bench/cli/run/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "algorithms/catalog.hpp"
#include "bench/cli/faulty/faulty_algorithms.hpp"
#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

class MakePlan : public ::testing::Test {
 protected:
  MakePlan() {
    register_all(registry_);
    add_faulty(registry_);
    fs::create_directories(folder_);
    options_.configs = {
        config("net", R"([{"name": "one", "in_channels": 2, "input": [6, 5], "out_channels": 3, "filter": 3},
                                          {"name": "two", "in_channels": 2, "input": [8, 8], "out_channels": 2, "filter": 3}])")};
    options_.overrides.add("--algorithm", "plain.cpu");
  }

  std::string config(const std::string& name, const std::string& layers) const {
    const fs::path path = folder_ / (name + ".json");
    std::ofstream(path) << R"({"name": ")" << name << R"(", "layers": )" << layers << "}";
    return path.string();
  }

  RunPlan plan() const {
    return make_plan(options_, {"convscope", "run"}, registry_, {{describe_cpu()}, {}});
  }

  testing::TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  Registry registry_;
  RunOptions options_;
};

TEST_F(MakePlan, HasEveryLayerAndPass) {
  EXPECT_THAT(plan().tasks, SizeIs(6));
  EXPECT_THAT(plan().argv, ElementsAre("convscope", "run"));
  EXPECT_EQ(plan().config.at(0).at("name"), "net");
  EXPECT_TRUE(plan().environment.contains("started"));
}

TEST_F(MakePlan, FollowsTheFlags) {
  options_.overrides.add("--pass", "forward");
  options_.overrides.add("--time-limit", "3");
  options_.repeat = true;
  const RunPlan made = plan();
  ASSERT_THAT(made.tasks, SizeIs(2));
  EXPECT_EQ(made.tasks[0].protocol.sampling.time_limit_seconds, 3);
  EXPECT_TRUE(made.tasks[0].protocol.sampling.repeat);
  EXPECT_TRUE(made.tasks[0].protocol.measure);
}

TEST_F(MakePlan, OfVerifyVisitsEachProblemOnce) {
  options_.measure = false;
  options_.overrides.add("--cache", "cold,hot");
  const RunPlan made = plan();
  EXPECT_THAT(made.tasks, SizeIs(6));
  EXPECT_FALSE(made.tasks[0].protocol.measure);
}

TEST_F(MakePlan, SplitsIntoShardsThatAreTheWhole) {
  std::set<std::string> keys;
  size_t groups = 0;
  for (int64_t index : {1, 2, 3}) {
    options_.shard = {index, 3};
    for (const GroupTask& task : plan().tasks) {
      keys.insert(candidate_key(task.group.common));
      ++groups;
    }
    EXPECT_EQ(plan().environment.at("shard").at("index"), index);
    EXPECT_EQ(plan().environment.at("shard").at("count"), 3);
  }
  EXPECT_EQ(groups, 6u);
  EXPECT_THAT(keys, SizeIs(6));
}

TEST_F(MakePlan, MakesOneGroupOfOneProblemLine) {
  options_.configs.clear();
  options_.problem = "backward_filter fp32 nhwc n=3 c=2 hw=6x5 k=3 rs=3x3 stride=2x1";
  const RunPlan made = plan();
  ASSERT_THAT(made.tasks, SizeIs(1));
  EXPECT_EQ(made.tasks[0].group.common.problem, parse_problem(options_.problem));
  EXPECT_THAT(made.tasks[0].group.algorithms, ElementsAre("plain.cpu"));
}

TEST_F(MakePlan, OfOneProblemTakesEveryAlgorithmUnlessOneIsNamed) {
  options_ = {};
  options_.problem = "forward fp32 nchw n=1 c=2 hw=6 k=3 rs=3";
  EXPECT_GT(plan().tasks.at(0).group.algorithms.size(), 5u);
}

TEST_F(MakePlan, HasTheLayersThatAreNamed) {
  options_.layers = {"t*"};
  for (const GroupTask& task : plan().tasks) EXPECT_EQ(task.group.common.layer, "two");
  options_.layers = {"one", "two"};
  EXPECT_THAT(plan().tasks, SizeIs(6));
  options_.layers = {"one", "twp"};
  EXPECT_THAT(
      [&] { plan(); },
      ThrowsMessage<UsageError>("--layer: found \"twp\", which matches no layer; there are one, two; did you "
                                "mean \"two\"?"));
}

TEST_F(MakePlan, LeavesOutConfigsWithoutANamedLayer) {
  options_.configs.push_back(config(
      "other", R"([{"name": "three", "in_channels": 2, "input": 6, "out_channels": 3, "filter": 3}])"));
  options_.layers = {"three"};
  EXPECT_THAT(plan().tasks, SizeIs(3));
}

TEST_F(MakePlan, PassesOverTheSchemaThatLiesBesideConfigs) {
  std::ofstream(folder_ / "schema.json") << "{}";
  options_.configs.push_back((folder_ / "schema.json").string());
  EXPECT_THAT(plan().tasks, SizeIs(6));
  options_.configs = {options_.configs.back()};
  EXPECT_THAT([&] { plan(); }, ThrowsMessage<UsageError>(HasSubstr("schema.json")))
      << "alone it is no config";
}

TEST_F(MakePlan, RefusesTheSameConfigTwice) {
  options_.configs.push_back(options_.configs.front());
  EXPECT_THAT([&] { plan(); }, ThrowsMessage<UsageError>(HasSubstr("in common")));
}

TEST(Run, SaysHowToGoOnThoughTheAnswersCannotBeWritten) {
  Registry registry;
  add_faulty(registry);
  const testing::TemporaryFolder folder;
  std::ostringstream out, errors;
  const std::vector<std::string> words{"convscope",   "run",
                                       "--case",      "n=1 c=2 hw=6 k=3 rs=3",
                                       "--algorithm", "faulty.lost.verify.cpu,faulty.infinity.verify.cpu",
                                       "--device",    "cpu",
                                       "--threads",   "1",
                                       "--isolate",   "off",
                                       "--record",    "/dev/full",
                                       "--out",       folder.path().string()};
  EXPECT_THAT(testing::error_of([&] {
                parse_command(words)({.argv = words, .registry = registry, .out = out, .errors = errors});
              }),
              HasSubstr("/dev/full: cannot write this file"));
  EXPECT_THAT(errors.str(), HasSubstr("go on with: "));
  EXPECT_THAT(errors.str(), HasSubstr(" run --resume " + folder.path().string() + " --record /dev/full"));
}

// What the flags make of a suite without layers.
Suite suite_after(const Overrides& overrides) {
  Suite suite;
  apply(overrides, suite);
  return suite;
}

TEST(RunFlags, TakeListsWithCommasRepeatedFlagsOrBoth) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"a.json", "--batch", "1,4,8"},
                                             {"--batch", "1", "--batch", "4", "--batch", "8", "a.json"},
                                             {"--batch=1,4", "a.json", "--batch", "8"}}) {
    const RunOptions options = testing::read_flags<RunOptions>(words);
    EXPECT_THAT(suite_after(options.overrides).batch.at(DeviceKind::cpu), ElementsAre(1, 4, 8));
    EXPECT_THAT(options.configs, ElementsAre("a.json"));
  }
}

TEST(RunFlags, ReadEveryFlagOfRun) {
  const RunOptions options = testing::read_flags<RunOptions>({"a.json",
                                                              "b.json",
                                                              "--device",
                                                              "cpu",
                                                              "--algorithm",
                                                              "w*,direct.cpu",
                                                              "--pass",
                                                              "forward",
                                                              "--math",
                                                              "fp32",
                                                              "--layout",
                                                              "nchw,nhwc",
                                                              "--threads",
                                                              "1,2",
                                                              "--cache",
                                                              "cold,hot,weights-cold",
                                                              "--workspace-cap",
                                                              "256MiB,inf",
                                                              "--time-limit",
                                                              "2.5",
                                                              "--stage-limit",
                                                              "45",
                                                              "--seed",
                                                              "7",
                                                              "--out",
                                                              "o",
                                                              "--shard",
                                                              "2/4",
                                                              "--aa",
                                                              "--knobs",
                                                              "12",
                                                              "--record",
                                                              "answers.json",
                                                              "--dry-run",
                                                              "--isolate",
                                                              "off",
                                                              "--first-backward-data"});
  EXPECT_TRUE(options.measure);
  EXPECT_THAT(options.configs, ElementsAre("a.json", "b.json"));
  const Suite suite = suite_after(options.overrides);
  EXPECT_THAT(suite.algorithms, ElementsAre("w*", "direct.cpu"));
  EXPECT_THAT(suite.measuring.workspace_caps,
              ElementsAre(std::optional<int64_t>(int64_t{256} << 20), std::nullopt));
  EXPECT_THAT(suite.measuring.cache,
              ElementsAre(CacheState::cold, CacheState::hot, CacheState::weights_cold));
  EXPECT_EQ(suite.measuring.sampling.time_limit_seconds, 2.5);
  EXPECT_EQ(suite.measuring.sampling.stage_limit_seconds, 45);
  EXPECT_EQ(suite.measuring.seed, 7u);
  EXPECT_TRUE(suite.first_backward_data);
  EXPECT_EQ(options.out, "o");
  EXPECT_EQ(options.shard.index, 2);
  EXPECT_EQ(options.shard.count, 4);
  EXPECT_TRUE(options.repeat);
  EXPECT_EQ(options.knobs, 12);
  EXPECT_EQ(options.record, "answers.json");
  EXPECT_TRUE(options.dry_run);
  EXPECT_FALSE(options.isolate);
}

TEST(VerifyFlags, MeasureNothing) {
  RunOptions options;
  CLI::App verb;
  add_verify_flags(verb, options);
  verb.parse("a.json --batch 1");
  EXPECT_FALSE(options.measure);
  EXPECT_TRUE(options.isolate);
  for (const char* flag : {"--cache", "--time-limit", "--max-samples"})
    EXPECT_EQ(verb.get_option_no_throw(flag), nullptr) << flag;
}

}  // namespace
}  // namespace convscope
