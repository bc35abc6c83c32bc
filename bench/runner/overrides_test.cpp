#include "bench/runner/overrides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/core/error.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

using testing::error_of;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of_flag(std::string_view flag, std::string_view text) {
  Overrides overrides;
  return error_of([&] { overrides.add(flag, text); });
}

Suite small_suite() {
  Suite suite;
  suite.name = "n";
  suite.file = "n.json";
  Layer layer;
  layer.name = "a";
  layer.shape.input = {8, 8};
  layer.shape.filter = {3, 3};
  suite.layers.push_back(layer);
  return suite;
}

TEST(Overrides, LeaveASuiteAloneWhereNothingIsSet) {
  Suite suite = small_suite();
  suite.layers[0].batch = 7;
  const auto before = to_json(suite);
  apply({}, suite);
  EXPECT_EQ(to_json(suite), before);
}

TEST(Overrides, OfEveryFlagReplaceWhatTheConfigSays) {
  Overrides overrides;
  overrides.add("--device", "emulator,cuda:1,cpu,cuda:0");
  overrides.add("--algorithm", "fft*,winograd.f4x4_3x3.cpu");
  overrides.add("--pass", "backward_filter,forward");
  overrides.add("--batch", "1,8");
  overrides.add("--math", "bf16");
  overrides.add("--layout", "nhwc,nchw");
  overrides.add("--threads", "0,2");
  overrides.add("--first-backward-data", "");
  overrides.add("--epilogue", "none,bias+relu");
  overrides.add("--cache", "hot,weights-cold");
  overrides.add("--workspace-cap", "0,8MiB,inf");
  overrides.add("--time-limit", "0.5");
  overrides.add("--stage-limit", "90");
  overrides.add("--min-samples", "3");
  overrides.add("--max-samples", "4");
  overrides.add("--confidence-width", "0.01");
  overrides.add("--seed", "42");
  Suite suite = small_suite();
  apply(overrides, suite);
  EXPECT_THAT(suite.devices, ElementsAre(DeviceId(DeviceKind::emulator), DeviceId(DeviceKind::cuda, 1),
                                         DeviceId(DeviceKind::cpu), DeviceId(DeviceKind::cuda)));
  EXPECT_THAT(suite.algorithms, ElementsAre("fft*", "winograd.f4x4_3x3.cpu"));
  EXPECT_THAT(suite.passes, ElementsAre(Pass::backward_filter, Pass::forward));
  for (DeviceKind kind : kDeviceKinds) EXPECT_THAT(suite.batch.at(kind), ElementsAre(1, 8));
  EXPECT_THAT(suite.math, ElementsAre(MathMode::bf16));
  EXPECT_THAT(suite.layouts, ElementsAre(Layout::nhwc, Layout::nchw));
  EXPECT_THAT(suite.epilogues, ElementsAre(Epilogue::none, Epilogue::bias_relu));
  EXPECT_THAT(suite.threads, ElementsAre(0, 2));
  EXPECT_TRUE(suite.first_backward_data);
  EXPECT_THAT(suite.measuring.cache, ElementsAre(CacheState::hot, CacheState::weights_cold));
  EXPECT_THAT(suite.measuring.workspace_caps, ElementsAre(0, 8 << 20, std::nullopt));
  EXPECT_EQ(suite.measuring.sampling.time_limit_seconds, 0.5);
  EXPECT_EQ(suite.measuring.sampling.stage_limit_seconds, 90);
  EXPECT_EQ(suite.measuring.sampling.min_samples, 3);
  EXPECT_EQ(suite.measuring.sampling.max_samples, 4);
  EXPECT_EQ(suite.measuring.sampling.confidence_width, 0.01);
  EXPECT_EQ(suite.measuring.seed, 42u);
}

TEST(Overrides, BatchFromTheCommandLineWinsOverALayersOwn) {
  Suite suite = small_suite();
  suite.layers[0].batch = 7;
  Overrides overrides;
  overrides.add("--batch", "2");
  apply(overrides, suite);
  EXPECT_EQ(suite.layers[0].batch, std::nullopt);
  EXPECT_THAT(suite.batch.at(DeviceKind::cpu), ElementsAre(2));
}

TEST(Overrides, AreCheckedTogetherWithTheSuite) {
  Suite suite = small_suite();
  suite.layers[0].shape.in_channels = int64_t{1} << 31;
  suite.layers[0].shape.input = {1 << 15, 1 << 15};
  Overrides overrides;
  overrides.add("--batch", std::to_string(kLargestSize));
  EXPECT_THAT(error_of([&] { apply(overrides, suite); }),
              AllOf(HasSubstr("n.json: at /layers/0"), HasSubstr("batch 2147483648"),
                    HasSubstr("overflows 64 bits")));
}

TEST(Overrides, ThatContradictTheSuiteAreNamedByTheirFlag) {
  const auto error = [](std::string_view flag, std::string_view text) {
    Suite suite = small_suite();
    Overrides overrides;
    overrides.add(flag, text);
    return error_of([&] { apply(overrides, suite); });
  };
  EXPECT_EQ(error("--max-samples", "5"),
            "--max-samples: found the number 5; allowed is at least min_samples (--min-samples), which is "
            "10");
  EXPECT_EQ(error("--min-samples", "201"),
            "--min-samples: found the number 201; allowed is at most max_samples, which is 200");
}

TEST(OverrideFlags, StandForEverySettingOfAConfigOnce) {
  std::set<std::string_view> keys;
  for (const OverrideFlag& flag : override_flags()) EXPECT_TRUE(keys.insert(flag.key).second) << flag.key;
  std::set<std::string> expected;
  const std::set<std::string_view> facts{"$schema", "name",  "about",    "source",
                                         "layers",  "graph", "measuring"};
  for (std::string_view key : kSuiteKeys)
    if (!facts.contains(key)) expected.emplace(key);
  for (std::string_view key : kMeasuringKeys) expected.insert("measuring." + std::string(key));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), expected);
}

TEST(OverrideFlags, SayWhatWasFoundAndWhatIsAllowed) {
  const struct {
    std::string_view flag, text;
    std::vector<std::string> pieces;
  } cases[] = {
      {"--device", "gpu", {"\"gpu\"", "cuda:N (counted from 0)", "did you mean \"cuda\"?"}},
      {"--device", "cuda:x", {"\"cuda:x\"", "cpu, cuda (the first)"}},
      {"--device", "cuda,cuda:0", {"cuda:0 is there twice"}},
      {"--device", "emulater", {"did you mean \"emulator\"?"}},
      {"--algorithm", "", {"\"\"", "without empty entries"}},
      {"--pass", "forwards", {"\"forwards\"", "did you mean \"forward\"?"}},
      {"--pass", "forward,forward", {"forward is there twice"}},
      {"--batch", "0", {"\"0\"", "a whole number from 1 to 2147483648"}},
      {"--batch", "1,", {"\"1,\"", "without empty entries"}},
      {"--batch", "1;2", {"\"1;2\"", "a whole number"}},
      {"--batch", "99999999999999999999", {"a whole number"}},
      {"--math", "fp64", {"\"fp64\"", "fp32, tf32, 3xtf32, bf16, fp16"}},
      {"--layout", "NCHW", {"\"NCHW\"", "did you mean \"nchw\"?"}},
      {"--threads", "-1", {"\"-1\"", "from 0 to 4096"}},
      {"--cache", "warm", {"\"warm\"", "cold, hot, weights-cold"}},
      {"--workspace-cap", "256MB", {"\"256MB\"", "as in 256MiB", "inf"}},
      {"--time-limit", "0", {"\"0\"", "a number above 0, at most 86400"}},
      {"--time-limit", "nan", {"\"nan\"", "a number above 0"}},
      {"--time-limit", "inf", {"\"inf\"", "at most 86400"}},
      {"--time-limit", "15s", {"\"15s\""}},
      {"--stage-limit", "-1", {"\"-1\"", "a number from 0 to 86400"}},
      {"--stage-limit", "a minute", {"\"a minute\"", "a number from 0"}},
      {"--stage-limit", "nan", {"\"nan\"", "a number from 0"}},
      {"--min-samples", "0", {"\"0\"", "from 1 to 1000000"}},
      {"--max-samples", "many", {"\"many\"", "from 1 to 1000000"}},
      {"--confidence-width", "1.5", {"\"1.5\"", "at most 1"}},
      {"--seed", "-3", {"\"-3\"", "from 0"}},
  };
  for (const auto& [flag, text, pieces] : cases) {
    const std::string error = error_of_flag(flag, text);
    EXPECT_THAT(error, ::testing::StartsWith(std::string(flag) + ": found ")) << text;
    for (const std::string& piece : pieces) EXPECT_THAT(error, HasSubstr(piece)) << flag;
  }
}

TEST(ParseShard, ReadsAPartOfAWhole) {
  EXPECT_EQ(parse_shard("2/4").index, 2);
  EXPECT_EQ(parse_shard("2/4").count, 4);
  EXPECT_EQ(parse_shard("1/1").count, 1);
}

TEST(ParseShard, RefusesWhatIsNoPart) {
  for (std::string_view text :
       {"", "2", "/", "0/4", "5/4", "-1/4", "1/0", "1/", "/4", "1/4/2", "a/b", "1/4 "})
    EXPECT_THAT(error_of([&] { parse_shard(text); }),
                AllOf(HasSubstr("--shard: found \"" + std::string(text) + "\""), HasSubstr("as in 2/4")));
}

TEST(ByteLimits, AreReadInEveryForm) {
  const auto bytes = [](std::string_view text) { return parse_byte_limit(text)->bytes; };
  EXPECT_EQ(bytes("256MiB"), 268'435'456);
  EXPECT_EQ(bytes("64KiB"), 65'536);
  EXPECT_EQ(bytes("1GiB"), 1'073'741'824);
  EXPECT_EQ(bytes("2TiB"), 2'199'023'255'552);
  EXPECT_EQ(bytes("512B"), 512);
  EXPECT_EQ(bytes("512"), 512);
  EXPECT_EQ(bytes("0"), 0);
  EXPECT_EQ(bytes("inf"), std::nullopt);
}

TEST(ByteLimits, OfOtherFormsAreRefused) {
  for (std::string_view text : {"", "MiB", "-1", "1.5GiB", "1 MiB", "1MB", "1mib", "INF", "8388608TiB", "1e3",
                                "9223372036854775808", "+1"})
    EXPECT_EQ(parse_byte_limit(text), std::nullopt) << text;
}

TEST(ByteLimits, AreWrittenSoThatTheyReadBack) {
  for (std::optional<int64_t> bytes : std::initializer_list<std::optional<int64_t>>{
           std::nullopt, 0, 1, 1000, 1024, 1536, 3 << 20, int64_t{5} << 40, INT64_MAX})
    EXPECT_EQ(parse_byte_limit(byte_limit_text(bytes)), ByteLimit{bytes}) << byte_limit_text(bytes);
  EXPECT_EQ(byte_limit_text(256 << 20), "256MiB");
  EXPECT_EQ(byte_limit_text(std::nullopt), "inf");
}

TEST(DidYouMean, FindsTheNearestNameAndNothingForADistantOne) {
  const std::vector<std::string> names{"forward", "backward_data", "backward_filter"};
  EXPECT_EQ(did_you_mean("foward", names), "; did you mean \"forward\"?");
  EXPECT_EQ(did_you_mean("Backward_Data", names), "; did you mean \"backward_data\"?");
  EXPECT_EQ(did_you_mean("transpose", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("x", {"h"}), "");
}

}  // namespace
}  // namespace convscope
