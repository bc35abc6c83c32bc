#include "bench/cli/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/core/error.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Command parse(std::vector<std::string> words) {
  words.insert(words.begin(), "convscope");
  return parse_command(words);
}

RunOptions parse_run(const std::vector<std::string>& words) {
  return std::get<RunOptions>(parse(words));
}

std::string message_of(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, TakeListsWithCommasRepeatedFlagsOrBoth) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", "a.json", "--batch", "1,4,8"},
           {"run", "--batch", "1", "--batch", "4", "--batch", "8", "a.json"},
           {"run", "--batch=1,4", "a.json", "--batch", "8"}}) {
    const RunOptions options = parse_run(words);
    EXPECT_THAT(options.overrides.batch, Optional(ElementsAre(1, 4, 8)));
    EXPECT_THAT(options.configs, ElementsAre("a.json"));
  }
}

TEST(Options, ReadEveryFlagOfRun) {
  const RunOptions options = parse_run({"run",
                                        "a.json",
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
  EXPECT_THAT(options.overrides.algorithms, Optional(ElementsAre("w*", "direct.cpu")));
  EXPECT_THAT(options.overrides.workspace_caps,
              Optional(ElementsAre(std::optional<int64_t>(int64_t{256} << 20), std::nullopt)));
  EXPECT_THAT(options.overrides.cache,
              Optional(ElementsAre(CacheState::cold, CacheState::hot, CacheState::weights_cold)));
  EXPECT_EQ(options.overrides.time_limit_seconds, 2.5);
  EXPECT_EQ(options.overrides.stage_limit_seconds, 45);
  EXPECT_EQ(options.overrides.seed, 7u);
  EXPECT_EQ(options.overrides.first_backward_data, true);
  EXPECT_EQ(options.out, "o");
  EXPECT_EQ(options.shard.index, 2);
  EXPECT_EQ(options.shard.count, 4);
  EXPECT_TRUE(options.repeat);
  EXPECT_EQ(options.knobs, 12);
  EXPECT_EQ(options.record, "answers.json");
  EXPECT_TRUE(options.dry_run);
  EXPECT_FALSE(options.isolate);
}

TEST(Options, OfVerifyMeasureNothing) {
  const RunOptions options = parse_run({"verify", "a.json", "--batch", "1"});
  EXPECT_FALSE(options.measure);
  EXPECT_TRUE(options.isolate);
  EXPECT_THAT(message_of({"verify", "a.json", "--cache", "hot"}), HasSubstr("--cache"));
}

TEST(Options, OfTheOtherVerbsAreRead) {
  EXPECT_THAT(std::get<CsvOptions>(parse({"csv", "a", "b.json.xz"})).results, ElementsAre("a", "b.json.xz"));
  const auto merge = std::get<MergeOptions>(parse({"merge", "a", "b", "--out", "c"}));
  EXPECT_THAT(merge.folders, ElementsAre("a", "b"));
  EXPECT_EQ(merge.out, "c");
  const auto list = std::get<ListOptions>(parse({"list", "layers", "a.json", "--json"}));
  EXPECT_EQ(list.what, "layers");
  EXPECT_EQ(list.config, "a.json");
  EXPECT_TRUE(list.json);
  EXPECT_TRUE(std::get<InfoOptions>(parse({"info", "--json"})).json);
  const auto explain = std::get<ExplainOptions>(parse({"explain", "n=1", "--threads", "2", "--cache", "hot",
                                                       "--workspace-cap", "inf", "--device", "cuda:1"}));
  EXPECT_EQ(explain.problem, "n=1");
  EXPECT_EQ(explain.threads, 2);
  EXPECT_EQ(explain.device, DeviceId(DeviceKind::cuda, 1));
  EXPECT_EQ(explain.cache, CacheState::hot);
  EXPECT_EQ(explain.workspace_cap, std::nullopt);
  const auto exec =
      std::get<ExecOptions>(parse({"exec", "--case", "n=1", "--algorithm", "a", "--input", "x", "--filter",
                                   "w", "--output", "y", "--workspace-cap", "1KiB"}));
  EXPECT_EQ(exec.output, "y");
  EXPECT_EQ(exec.workspace_cap, 1024);
  EXPECT_EQ(std::get<WorkerOptions>(parse({"worker", "12"})).parent, 12);
}

struct Wrong {
  std::vector<std::string> words;
  std::vector<std::string> says;
};

class WrongUsage : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongUsage, GetsASentenceThatSaysWhatToDo) {
  const std::string message = message_of(GetParam().words);
  for (const std::string& part : GetParam().says) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongUsage,
    ::testing::Values(
        Wrong{{}, {"a verb is missing", "run", "verify", "merge"}}, Wrong{{"rnu", "a.json"}, {"rnu", "run"}},
        Wrong{{"verfiy", "a.json"}, {"did you mean \"verify\""}},
        Wrong{{"run", "a.json", "--bach", "4"},
              {"--bach", "did you mean \"--batch\"", "convscope run --help"}},
        Wrong{{"run", "a.json", "--algoritm=x"}, {"--algoritm", "did you mean \"--algorithm\""}},
        Wrong{{"run"}, {"needs a CONFIG"}}, Wrong{{"verify"}, {"needs a CONFIG"}},
        Wrong{{"run", "a.json", "--batch"}, {"--batch"}},
        Wrong{{"run", "a.json", "--batch", "0"}, {"--batch", "\"0\""}},
        Wrong{{"run", "a.json", "--stage-limit", "-3"}, {"--stage-limit", "\"-3\"", "from 0 to 86400"}},
        Wrong{{"verify", "a.json", "--stage-limit", "long"}, {"--stage-limit", "\"long\""}},
        Wrong{{"run", "a.json", "--pass", "sideways"}, {"sideways", "forward"}},
        Wrong{{"run", "a.json", "--isolate", "maybe"}, {"--isolate", "maybe", "on, off"}},
        Wrong{{"run", "a.json", "--shard", "3/2"}, {"--shard", "3/2"}},
        Wrong{{"run", "--resume", "d", "a.json"}, {"--resume", "CONFIG"}},
        Wrong{{"run", "--resume", "d", "--batch", "1"}, {"--resume", "--batch"}},
        Wrong{{"run", "--resume", "d", "--out", "e"}, {"--resume", "--out"}},
        Wrong{{"run", "--case", "n=1"}, {"--algorithm"}},
        Wrong{{"run", "--case", "n=1", "--algorithm", "a", "--batch", "2"}, {"--case", "--batch"}},
        Wrong{{"merge", "a"}, {"--out"}}, Wrong{{"csv"}, {"RESULTS"}}, Wrong{{"explain"}, {"PROBLEM"}},
        Wrong{{"explain", "n=1", "--cache", "warm"}, {"--cache", "warm", "cold"}},
        Wrong{{"explain", "n=1", "--workspace-cap", "lots"}, {"--workspace-cap", "lots"}},
        Wrong{{"explain", "n=1", "--device", "gpu"}, {"--device", "\"gpu\"", "did you mean \"cuda\"?"}},
        Wrong{{"list"}, {"WHAT"}}));

TEST(Help, OfEveryVerbHasAnExample) {
  for (const std::string verb : {"run", "verify", "list", "info", "explain", "exec", "merge", "csv"}) {
    const std::string text = std::get<Notice>(parse({verb, "--help"})).text;
    EXPECT_THAT(text, AllOf(HasSubstr("Example"), HasSubstr("convscope " + verb))) << text;
  }
}

TEST(Help, OfTheProgramNamesEveryVerbButTheHiddenOne) {
  const std::string text = std::get<Notice>(parse({"--help"})).text;
  for (const char* verb : {"run", "verify", "list", "info", "explain", "exec", "merge", "csv"})
    EXPECT_THAT(text, HasSubstr(std::string("\n  ") + verb));
  EXPECT_EQ(text.find("worker"), std::string::npos) << text;
}

TEST(Help, OfRunNamesEveryOverride) {
  const std::string text = std::get<Notice>(parse({"run", "--help"})).text;
  for (const OverrideFlag& flag : override_flags()) EXPECT_THAT(text, HasSubstr(std::string(flag.flag)));
}

}  // namespace
}  // namespace convscope
