// docs/configs.md is true: its examples load, its messages are the program's, and it names every field and
// flag.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/core/error_of_test.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_value.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/overrides.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

std::string document() {
  std::ifstream stream(std::string(CONVSCOPE_CONFIG_FOLDER) + "/../docs/configs.md");
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> json_examples(const std::string& text) {
  constexpr std::string_view open = "```json\n";
  std::vector<std::string> examples;
  for (size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    at += open.size();
    examples.push_back(text.substr(at, text.find("```", at) - at));
  }
  return examples;
}

std::string error_of(const std::string& text) {
  return testing::error_of([&] { suite_from_json(parse_json(text, "net.json"), "net.json"); });
}

TEST(ConfigDocument, HasExamplesThatLoad) {
  const auto examples = json_examples(document());
  EXPECT_EQ(examples.size(), 6u);
  for (const std::string& example : examples) EXPECT_EQ(error_of(example), "");
}

TEST(ConfigDocument, StatesTheDefaultBatchOfAKindOfDevice) {
  EXPECT_THAT(document(),
              HasSubstr(fmt::format("as {} on `cpu` and {} on `cuda`", traits(DeviceKind::cpu).default_batch,
                                    traits(DeviceKind::cuda).default_batch)));
}

TEST(ConfigDocument, ShowsMessagesAsTheProgramWritesThem) {
  const std::string text = document();
  const std::string sizes = R"("in_channels": 1, "input": 1, "out_channels": 1, "filter": 1)";
  const auto four = [](const std::string& name, int in, const std::string& more) {
    return R"({"name": ")" + name + R"(", "input": [6, 5], "out_channels": 4, "filter": 1, )" + more +
           R"("in_channels": )" + std::to_string(in) + "}";
  };
  const std::string bad_texts[] = {
      "{\n  \"name\": \"n\"\n  \"layers\": []\n}",
      R"({"name": "n", "layers": [{"name": "a", )" + sizes + R"(}, {"name": "b", )" + sizes +
          R"(}, {"name": "c", "stride": 0, )" + sizes + "}]}",
      R"({"name": "n", "passes": ["foward"], "layers": [{"name": "a", )" + sizes + "}]}",
      R"({"name": "n", "layers": [{"name": "a", )" + sizes + R"(}, {"name": "b", "reads": "c", )" + sizes +
          R"(}, {"name": "c", )" + sizes + "}]}",
      R"({"name": "n", "layers": [)" + four("a", 4, "") + ", " + four("b", 4, "") + ", " +
          four("c", 12, R"("reads": ["a", "b"], )") + "]}"};
  for (const std::string& bad : bad_texts) {
    const std::string error = error_of(bad);
    EXPECT_NE(error, "");
    EXPECT_THAT(text, HasSubstr("\n" + error + "\n"));
  }
}

TEST(ConfigDocument, SaysOfEveryShippedConfigWhatItIsFor) {
  const std::string text = document();
  for (const auto& entry : std::filesystem::directory_iterator(CONVSCOPE_CONFIG_FOLDER)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".json" || is_schema(file)) continue;
    EXPECT_THAT(text, HasSubstr("\n| `" + file + "` | " + load_suite(entry.path().string()).about + " |\n"));
  }
}

TEST(ConfigDocument, DescribesEveryFieldAndFlag) {
  const std::string text = document();
  const auto row = [](std::string_view key) { return "\n| `" + std::string(key) + "` | "; };
  for (std::string_view key : kSuiteKeys) EXPECT_THAT(text, HasSubstr(row(key)));
  for (std::string_view key : kGraphKeys) EXPECT_THAT(text, HasSubstr(row(key)));
  for (std::string_view key : kLayerKeys) EXPECT_THAT(text, HasSubstr(row(key)));
  for (std::string_view key : kMeasuringKeys) EXPECT_THAT(text, HasSubstr(row(key)));
  for (const OverrideFlag& flag : override_flags())
    EXPECT_THAT(text, HasSubstr("| `" + std::string(flag.flag) + "` | "));
}

}  // namespace
}  // namespace convscope
