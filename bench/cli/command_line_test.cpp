#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cli/test_program.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/runner/overrides.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What --help shows: all but those that are hidden.
std::vector<std::string> shown_verbs() {
  std::vector<std::string> names;
  for (const Verb& verb : all_verbs())
    if (!verb.summary.empty()) names.push_back(verb.name);
  return names;
}

struct Wrong {
  std::vector<std::string> words;
  std::vector<std::string> says;
};

class WrongUsage : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongUsage, GetsASentenceThatSaysWhatToDo) {
  const std::string message = testing::refusal_of(GetParam().words);
  for (const std::string& part : GetParam().says) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongUsage,
    ::testing::Values(
        Wrong{{}, {"a verb is missing", "run", "verify", "merge"}}, Wrong{{"rnu", "a.json"}, {"rnu", "run"}},
        Wrong{{"verfiy", "a.json"}, {"did you mean \"verify\""}}, Wrong{{""}, {"there is no verb \"\""}},
        Wrong{{"list", "configs", "a", ""}, {"\"\" is one word too many"}},
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
        Wrong{{"--dry-run", "run", "a.json"}, {"--dry-run goes after the verb", "convscope run --dry-run"}},
        Wrong{{"run", "--case", "n=1", "--layer", "a"}, {"--case", "leave out --layer"}},
        Wrong{{"run", "--case", "n=1", "--algorithm", "a", "--batch", "2"}, {"--case", "--batch"}},
        Wrong{{"run", "a.json", "--out", ""}, {"--out: the name is empty; name a folder"}},
        Wrong{{"verify", "a.json", "--time-limit", "1"}, {"--time-limit"}}, Wrong{{"merge", "a"}, {"--out"}},
        Wrong{{"csv"}, {"convscope csv needs RESULTS, as in: convscope csv ", " (convscope csv --help)"}},
        Wrong{{"list"}, {"needs WHAT, as in: convscope list configs (convscope list --help)"}},
        Wrong{{"exec"}, {"needs --case, as in: convscope exec"}}, Wrong{{"explain"}, {"PROBLEM"}},
        Wrong{{"explain", "n=1", "--cache", "warm"}, {"--cache", "warm", "cold"}},
        Wrong{{"explain", "n=1", "--workspace-cap", "lots"}, {"--workspace-cap", "lots"}},
        Wrong{{"explain", "n=1", "--device", "gpu"}, {"--device", "\"gpu\"", "did you mean \"cuda\"?"}},
        Wrong{{"list"}, {"WHAT"}}));

TEST(Help, OfEveryVerbHasAnExample) {
  for (const std::string& verb : shown_verbs()) {
    const std::string text = testing::run_program({verb, "--help"});
    EXPECT_THAT(text, AllOf(HasSubstr("Example"), HasSubstr("convscope " + verb))) << text;
  }
}

TEST(Help, OfTheProgramNamesEveryVerbButTheHiddenOne) {
  const std::string text = testing::run_program({"--help"});
  for (const std::string& verb : shown_verbs()) EXPECT_THAT(text, HasSubstr("\n  " + verb));
  EXPECT_EQ(text.find("worker"), std::string::npos) << text;
}

TEST(Help, OfRunNamesEveryOverride) {
  const std::string text = testing::run_program({"run", "--help"});
  for (const OverrideFlag& flag : override_flags()) EXPECT_THAT(text, HasSubstr(std::string(flag.flag)));
}

TEST(CommandLine, TakesTheNameOfAVerbBehindAVerbForAWord) {
  for (const std::string kind : {"allreduce", "operations"}) {
    std::ostringstream out, errors;
    const Registry registry;
    const std::vector<std::string> argv{"convscope", "list", "columns", kind};
    EXPECT_EQ(parse_command(argv)({argv, registry, out, errors}), 0);
    EXPECT_THAT(out.str(), Not(HasSubstr("full_median_ms"))) << kind << ": not the columns of results";
    EXPECT_THAT(out.str(), HasSubstr(kind == "allreduce" ? "identical_bits" : "bandwidth_share"));
  }
}

TEST(CommandLine, TakesAFileForAnswersWithARunThatIsResumed) {
  EXPECT_EQ(testing::refusal_of({"run", "--resume", "d", "--record", "answers.json"}), "");
}

TEST(CommandLine, KnowsTheHiddenVerb) {
  EXPECT_EQ(testing::refusal_of({"worker", "12"}), "");
  EXPECT_THAT(testing::refusal_of({"worker"}), HasSubstr("PARENT"));
}

}  // namespace
}  // namespace convscope
