#include "bench/cli/list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/cli/test_program.hpp"
#include "bench/record/columns.hpp"
#include "bench/runner/test_errors.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

TEST(ListAlgorithms, AsksEachWhatItSupports) {
  const std::string text = testing::output_of([](auto& out) {
    list_algorithms(out, testing::registry_with_picky(), {{testing::test_processor()}, {}}, false);
  });
  EXPECT_THAT(
      text,
      HasSubstr("picky.cpu  (somelib 1.2)\n  For this test.\n  passes forward; layouts nchw, nhwc, chwn; "
                "math fp32\n  filters 3x3, 3x3 dilation 2, 3x3 groups 2, 3x3 depthwise\n"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("reference.cpu"), HasSubstr("never timed"), HasSubstr("filters all probed\n")));
}

TEST(ListAlgorithms, GivesNeighboursThatAreAlikeOneEntry) {
  Registry all;
  for (const char* id : {"picky.0.cpu", "picky.1.cpu", "picky.2.cpu"})
    all.add(std::make_unique<testing::Picky>([](const ConvArgs&) {}, id));
  const auto list = [&](bool json) {
    return testing::output_of([&](auto& out) {
      list_algorithms(out, all, {{testing::test_processor()}, {}}, json);
    });
  };
  EXPECT_THAT(list(false), StartsWith("picky.{0..2}.cpu  (somelib 1.2)\n  For this test.\n"));
  EXPECT_EQ(Json::parse(list(true)).size(), 3u);
}

TEST(ListAlgorithms, WritesTheSameAsJson) {
  const std::string text = testing::output_of([](auto& out) {
    list_algorithms(out, testing::registry_with_picky(), {{testing::test_processor()}, {}}, true);
  });
  const Json json = Json::parse(text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["id"], "picky.cpu");
  EXPECT_EQ(json[1]["passes"], Json({"forward"}));
  EXPECT_TRUE(json[1]["refusal"].is_null());
  EXPECT_TRUE(json[0]["version"].is_null());
}

TEST(ListAlgorithms, SaysWhenTheDeviceIsMissing) {
  const std::string text =
      testing::output_of([](auto& out) { list_algorithms(out, testing::registry_with_picky(), {}, false); });
  EXPECT_THAT(text, HasSubstr("not here: this machine has no cpu device"));
}

TEST(ListAlgorithms, SaysWhyThereIsNoSuchDeviceWhereThatIsKnown) {
  const DeviceList devices{{}, {{DeviceKind::cpu, "no CPU device: it was sold"}}};
  const std::string text = testing::output_of(
      [&](auto& out) { list_algorithms(out, testing::registry_with_picky(), devices, false); });
  EXPECT_THAT(text, HasSubstr("not here: no CPU device: it was sold"));
}

TEST(ListDevices, ShowsTheMachine) {
  const std::string text = testing::output_of([](auto& out) {
    list_devices(out, {{testing::test_processor()}, {}}, false);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("Test processor"), HasSubstr("32.0 KiB"), HasSubstr("24.0 GiB"),
                          HasSubstr("yes")));
  const Json json = Json::parse(testing::output_of([](auto& out) {
    list_devices(out, {{testing::test_processor()}, {}}, true);
  }));
  EXPECT_EQ(json[0]["cores"], 2);
}

TEST(ListDevices, ShowsEveryGpuUnderTheNameThatTheFlagTakes) {
  DeviceInfo first = testing::test_processor(), second = testing::test_processor();
  first.kind = second.kind = DeviceKind::cuda;
  second.index = 1;
  const DeviceList devices{{testing::test_processor(), first, second}, {}};
  const std::string text = testing::output_of([&](auto& out) { list_devices(out, devices, false); });
  EXPECT_THAT(text, AllOf(HasSubstr("\n  cpu "), HasSubstr("\n  cuda:0 "), HasSubstr("\n  cuda:1 ")));
  const Json json = Json::parse(testing::output_of([&](auto& out) { list_devices(out, devices, true); }));
  EXPECT_EQ(json[2]["index"], 1);
}

TEST(ListLayers, ShowsTheConfig) {
  Suite suite;
  suite.name = "tiny";
  suite.source = "a paper";
  Layer layer;
  layer.name = "conv2";
  layer.shape = parse_problem("n=16 c=96 hw=27 k=256 rs=5 pad=2");
  layer.count = 3;
  suite.layers = {layer};
  const std::string text = testing::output_of([&](auto& out) { list_layers(out, suite, false); });
  EXPECT_THAT(text, AllOf(HasSubstr("tiny: a paper\n"), HasSubstr("N16 C96 27x27 -> K256 5x5 pad 2"),
                          HasSubstr("14.3 GFLOP")));
  const Json json = Json::parse(testing::output_of([&](auto& out) { list_layers(out, suite, true); }));
  EXPECT_EQ(json["layers"][0]["count"], 3);
  EXPECT_TRUE(json["layers"][0]["batch"].is_null());
}

TEST(ListColumns, PrintsTheDocumentationFile) {
  EXPECT_EQ(testing::output_of([](auto& out) { list_columns(out, false, true); }), results_format_markdown());
  EXPECT_THAT(testing::output_of([](auto& out) { list_columns(out, false, false); }),
              HasSubstr("full_median_ms"));
  EXPECT_EQ(Json::parse(testing::output_of([](auto& out) { list_columns(out, true, false); }))[0]["name"],
            "network");
}

TEST(List, SaysWhatIsAllowed) {
  const auto error = [](const ListOptions& options) {
    return testing::error_of([&] {
      std::ostringstream out;
      list(out, options, testing::registry_with_picky());
    });
  };
  EXPECT_THAT(error({"networks", "", false, false}),
              AllOf(HasSubstr("\"networks\""), HasSubstr("algorithms, devices")));
  EXPECT_THAT(error({"layers", "", false, false}), HasSubstr("name a config"));
  EXPECT_THAT(error({"devices", "x.json", false, false}), HasSubstr("\"x.json\" is one argument too many"));
  EXPECT_THAT(error({"devices", "", false, true}), HasSubstr("--markdown"));
}

TEST(ListFlags, AreRead) {
  const auto options = testing::read_flags<ListOptions>({"layers", "a.json", "--json"});
  EXPECT_EQ(options.what, "layers");
  EXPECT_EQ(options.config, "a.json");
  EXPECT_TRUE(options.json);
}

}  // namespace
}  // namespace convscope
