#include "bench/cli/inventory/list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/algorithm/described_test.hpp"
#include "bench/cli/test_program.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/operation/measure_operations.hpp"
#include "bench/parallel/schedule/step_report.hpp"
#include "bench/record/columns.hpp"
#include "bench/runner/test_runs.hpp"
#include "bench/step/task_row.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

const DeviceList kHere{{testing::test_processor()}, {{DeviceKind::cuda, "no CUDA device: it was sold"}}};
const Look kWide(false, 200);

Registry registry_with_far_and_picky() {
  Registry all;
  all.add(std::make_unique<testing::Described>(
      AlgorithmInfo{"far.cuda", "far", "somelib", "", DeviceKind::cuda, "", true}));
  all.add(std::make_unique<testing::Picky>([](const ConvArgs&) {}));
  return all;
}

std::string listed(const AlgorithmFilter& filter) {
  return testing::output_of(
      [&](auto& out) { list_algorithms(out, registry_with_far_and_picky(), kHere, filter, false, kWide); });
}

TEST(ListAlgorithms, PutsWhatIsHereFirstAndWhatIsAbsentLast) {
  const std::string text = listed({});
  EXPECT_THAT(text, StartsWith("picky.cpu"));
  EXPECT_THAT(text, EndsWith("\n\nnot here: no CUDA device: it was sold\n  far.cuda\n"));
}

TEST(ListAlgorithms, LeavesOutWhatTheFiltersDo) {
  const auto ids = [](const AlgorithmFilter& filter) {
    const std::string text = listed(filter);
    std::string found;
    for (const char* id : {"picky.cpu", "far.cuda"})
      if (text.find(id) != std::string::npos) found += std::string(id) + " ";
    return found;
  };
  EXPECT_EQ(ids({.patterns = {"far"}}), "far.cuda ");
  EXPECT_EQ(ids({.patterns = {"!far"}}), "picky.cpu ");
  EXPECT_EQ(ids({.device = DeviceId(DeviceKind::cpu)}), "picky.cpu ");
  EXPECT_EQ(ids({.device = DeviceId(DeviceKind::cuda)}), "far.cuda ");
  EXPECT_EQ(ids({.passes = {"forward"}, .here = true}), "picky.cpu ");
  EXPECT_EQ(ids({.passes = {"backward_data"}, .here = true}), "");
  EXPECT_EQ(ids({.math = {"bf16", "fp32"}}), "picky.cpu far.cuda ") << "an absent one cannot be asked";
  EXPECT_EQ(listed({.math = {"bf16"}, .here = true}), "no algorithm is left by these filters\n");
  EXPECT_THAT(testing::error_of([] { listed({.patterns = {"farr"}}); }),
              AllOf(HasSubstr("list algorithms: found \"farr\""), HasSubstr("did you mean \"far\"?")));
}

TEST(ListAlgorithms, SaysWhichGpuIsMissingBesideAnother) {
  DeviceInfo gpu;
  gpu.kind = DeviceKind::cuda;
  gpu.name = "a GPU";
  const std::string text = testing::output_of([&](auto& out) {
    list_algorithms(out, registry_with_far_and_picky(), {{testing::test_processor(), gpu}, {}},
                    {.device = DeviceId(DeviceKind::cuda, 7)}, false, kWide);
  });
  EXPECT_EQ(text, "not here: cuda:7: this machine has 1 CUDA device: cuda:0 a GPU\n  far.cuda\n");
}

// The configs of a folder, as known_configs() gives them.
class ListConfigs : public ::testing::Test {
 protected:
  ListConfigs() { std::filesystem::create_directories(folder_.path()); }
  std::string write(const std::string& name, const std::string& text) {
    const std::string file = (folder_.path() / (name + ".json")).string();
    std::ofstream(file) << text;
    files_[name] = file;
    return file;
  }
  std::string text(const Look& look = kWide) const {
    return testing::output_of([&](auto& out) { list_configs(out, files_, false, look); });
  }

  testing::TemporaryFolder folder_;
  std::map<std::string, std::string> files_;
};

TEST_F(ListConfigs, SaysWhatEachIsForAndHowMuch) {
  write("net", R"({"name": "net", "about": "For this test", "batch": {"cpu": [1, 4]}, "layers": [
      {"name": "a", "in_channels": 100, "input": 10, "out_channels": 100, "filter": 1, "count": 3}]})");
  write("set", R"({"name": "set", "layers": [
      {"name": "a", "in_channels": 100, "input": 10, "out_channels": 100, "filter": 1, "batch": 5}]})");
  EXPECT_THAT(text(), AllOf(HasSubstr("  net          1        1,4         256  0.006  For this test\n"),
                            HasSubstr("  set          1        own         own   0.01\n")));
  const Json json = Json::parse(testing::output_of([&](auto& out) { list_configs(out, files_, true); }));
  EXPECT_EQ(json[0]["convolutions"], 3);
  EXPECT_EQ(json[0]["batch"]["cpu"], Json({1, 4}));
  EXPECT_EQ(json[0]["forward_flops_nominal"], 6e6);
  EXPECT_EQ(json[1]["about"], "");
}

TEST_F(ListConfigs, NamesAFileThatIsNoConfigAndGoesOn) {
  const std::string file = write("broken", "{");
  write("net", R"({"name": "net", "layers": [
      {"name": "a", "in_channels": 1, "input": 1, "out_channels": 1, "filter": 1}]})");
  EXPECT_THAT(text(), AllOf(HasSubstr("  net "), HasSubstr("not a config: " + file + ": line 1")));
}

TEST_F(ListConfigs, IsEightyColumnsWide) {
  for (const auto& entry : std::filesystem::directory_iterator(CONVSCOPE_SOURCE_FOLDER "/configs"))
    if (entry.path().extension() == ".json" && !is_schema(entry.path()))
      files_[entry.path().stem()] = entry.path();
  ASSERT_GT(files_.size(), 20u);
  std::istringstream lines(text({}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(ListAlgorithms, AsksEachWhatItSupports) {
  const std::string text = testing::output_of(
      [](auto& out) { list_algorithms(out, testing::registry_with_picky(), kHere, {}, false, kWide); });
  EXPECT_THAT(
      text, HasSubstr("picky.cpu  (somelib 1.2)\n  For this test.\n  passes forward; layouts all; math fp32; "
                      "filters 3x3, 3x3 dilation 2, 3x3 groups 2, 3x3 depthwise\n"));
  EXPECT_THAT(text, HasSubstr("never timed:\nreference.cpu"));
  EXPECT_THAT(text, HasSubstr("math all; filters all probed\n"));
}

TEST(ListAlgorithms, GivesNeighboursThatAreAlikeOneEntry) {
  Registry all;
  for (const char* id : {"picky.0.cpu", "picky.1.cpu", "picky.2.cpu"})
    all.add(std::make_unique<testing::Picky>([](const ConvArgs&) {}, id));
  const auto list = [&](bool json) {
    return testing::output_of([&](auto& out) { list_algorithms(out, all, kHere, {}, json, kWide); });
  };
  EXPECT_THAT(list(false), StartsWith("picky.{0..2}.cpu  (somelib 1.2)\n  For this test.\n"));
  EXPECT_EQ(Json::parse(list(true)).size(), 3u);
}

TEST(ListAlgorithms, WritesTheSameAsJson) {
  const std::string text = testing::output_of(
      [](auto& out) { list_algorithms(out, testing::registry_with_picky(), kHere, {}, true); });
  const Json json = Json::parse(text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["id"], "picky.cpu");
  EXPECT_EQ(json[1]["passes"], Json({"forward"}));
  EXPECT_TRUE(json[1]["refusal"].is_null());
  EXPECT_TRUE(json[0]["version"].is_null());
}

TEST(ListAlgorithms, SaysWhenTheDeviceIsMissing) {
  const std::string text = testing::output_of(
      [](auto& out) { list_algorithms(out, testing::registry_with_picky(), {}, {}, false); });
  EXPECT_EQ(text, "not here: this machine has no cpu device\n  reference.cpu, picky.cpu\n");
}

TEST(ListAlgorithms, SaysWhyThereIsNoSuchDeviceWhereThatIsKnown) {
  const DeviceList devices{{}, {{DeviceKind::cpu, "no CPU device: it was sold"}}};
  const std::string text = testing::output_of(
      [&](auto& out) { list_algorithms(out, testing::registry_with_picky(), devices, {}, false); });
  EXPECT_THAT(text, HasSubstr("not here: no CPU device: it was sold"));
}

TEST(ListDevices, ShowsTheMachine) {
  const std::string text = testing::output_of([](auto& out) {
    list_devices(out, {{testing::test_processor()}, {}}, false, kWide);
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
  EXPECT_THAT(text, AllOf(HasSubstr("tiny\n  source: a paper\n"),
                          HasSubstr("N16 C96 27x27 -> K256 5x5 pad 2"), HasSubstr("14.3 GFLOP")));
  const Json json = Json::parse(testing::output_of([&](auto& out) { list_layers(out, suite, true); }));
  EXPECT_EQ(json["layers"][0]["count"], 3);
  EXPECT_TRUE(json["layers"][0]["batch"].is_null());
}

TEST(ListColumns, PrintsTheDocumentationFilesAndTheColumnsOfEachKindOfRow) {
  const auto printed = [](const ListOptions& options) {
    return testing::output_of([&](auto& out) { list_columns(out, options); });
  };
  EXPECT_EQ(printed({.markdown = true}), results_format_markdown());
  EXPECT_EQ(printed({.argument = "steps", .markdown = true}), step_format_markdown());
  EXPECT_EQ(printed({.argument = "tasks", .markdown = true}), task_format_markdown());
  EXPECT_EQ(printed({.argument = "operations", .markdown = true}), operation_format_markdown());
  EXPECT_THAT(printed({}), HasSubstr("full_median_ms"));
  EXPECT_THAT(printed({.argument = "allreduce"}), HasSubstr("identical_bits"));
  EXPECT_EQ(Json::parse(printed({.json = true}))[0]["name"], "network");
  EXPECT_EQ(Json::parse(printed({.argument = "allreduce", .json = true}))[0]["name"], "gpus");
}

TEST(List, SaysWhatIsAllowed) {
  const auto error = [](const ListOptions& options) {
    return testing::error_of([&] {
      std::ostringstream out;
      list(out, options, testing::registry_with_picky());
    });
  };
  EXPECT_THAT(error({.what = "networks"}),
              AllOf(HasSubstr("\"networks\""), HasSubstr("algorithms, configs")));
  EXPECT_THAT(error({.what = "config"}), HasSubstr("did you mean \"configs\"?"));
  EXPECT_THAT(error({.what = "layers"}), HasSubstr("name a config"));
  EXPECT_THAT(error({.what = "devices", .argument = "x.json"}),
              HasSubstr("\"x.json\" is one argument too many"));
  EXPECT_THAT(error({.what = "devices", .markdown = true}), HasSubstr("--markdown"));
  EXPECT_THAT(error({.what = "configs", .filter = {.here = true}}), HasSubstr("`list algorithms` only"));
}

TEST(ListFlags, AreRead) {
  const auto options = testing::read_flags<ListOptions>({"layers", "a.json", "--json"});
  EXPECT_EQ(options.what, "layers");
  EXPECT_EQ(options.argument, "a.json");
  EXPECT_TRUE(options.json);
  const AlgorithmFilter filter =
      testing::read_flags<ListOptions>({"algorithms", "--algorithm", "fft,!fft.full", "--device", "cuda:1",
                                        "--pass", "forward,backward_data", "--math", "tf32", "--here"})
          .filter;
  EXPECT_THAT(filter.patterns, ElementsAre("fft", "!fft.full"));
  EXPECT_EQ(filter.device, DeviceId(DeviceKind::cuda, 1));
  EXPECT_THAT(filter.passes, ElementsAre("forward", "backward_data"));
  EXPECT_THAT(filter.math, ElementsAre("tf32"));
  EXPECT_TRUE(filter.here);
}

}  // namespace
}  // namespace convscope
