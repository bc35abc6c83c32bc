// What a good config becomes: defaults, short forms, the way back to JSON; the shipped configs; the schema's
// keys.
#include "bench/runner/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "bench/core/error_of_test.hpp"
#include "bench/runner/config_value.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;

Suite suite_of(const std::string& text) {
  return suite_from_json(parse_json(text, "test.json"), "test.json");
}

Suite suite_with(const std::string& keys) {
  return suite_of(
      R"({"name": "n", "layers": [{"name": "a", "in_channels": 4, "input": [8, 9], "out_channels": 6, "filter": 3}])" +
      keys + "}");
}

// A folder to be in, with configs/net.json and configs/schema.json.
class ConfigNames : public ::testing::Test {
 protected:
  ConfigNames() {
    std::filesystem::create_directories(folder_.path() / "configs");
    for (const char* name : {"net", "schema"})
      std::ofstream(folder_.path() / "configs" / (std::string(name) + ".json"))
          << R"({"name": "n", "layers": [{"name": "a", "in_channels": 4, "input": 8, "out_channels": 6, "filter": 3}]})";
    std::filesystem::current_path(folder_.path());
  }
  ~ConfigNames() override { std::filesystem::current_path(before_); }

  testing::TemporaryFolder folder_;
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(ConfigNames, MeanFilesInTheFolderOfConfigs) {
  EXPECT_EQ(load_suite("net").file, "configs/net.json");
  EXPECT_EQ(load_suite("net.json").file, "configs/net.json");
  EXPECT_EQ(load_suite("configs/net.json").file, "configs/net.json");
  std::filesystem::copy_file("configs/net.json", "net");
  EXPECT_EQ(load_suite("net").file, "net") << "a file of that name comes first";
}

TEST_F(ConfigNames, MayHaveADot) {
  std::filesystem::copy_file("configs/net.json", "configs/net.v2.json");
  EXPECT_EQ(load_suite("net.v2").file, "configs/net.v2.json");
  EXPECT_EQ(load_suite("net.v2.json").file, "configs/net.v2.json");
  EXPECT_NE(testing::error_of([] { load_suite("net.v3"); }), "");
}

TEST_F(ConfigNames, AreNotThoseOfFolders) {
  std::filesystem::create_directory("net");
  std::filesystem::create_directory("other");
  EXPECT_EQ(load_suite("net").file, "configs/net.json");
  EXPECT_EQ(testing::error_of([] { load_suite("other"); }),
            "other: there is no such file, and no config of that name; there are net");
}

TEST_F(ConfigNames, ThatAreUnknownGetTheNearestOnesAndNotTheSchema) {
  EXPECT_EQ(testing::error_of([] { load_suite("nett"); }),
            "nett: there is no such file, and no config of that name; there are net; did you mean \"net\"?");
}

TEST(Config, WithOnlyANameAndALayerGetsTheDocumentedDefaults) {
  const Suite suite = suite_with("");
  EXPECT_EQ(suite.name, "n");
  EXPECT_EQ(suite.file, "test.json");
  EXPECT_THAT(suite.batch.at(DeviceKind::cpu), ElementsAre(16));
  EXPECT_THAT(suite.batch.at(DeviceKind::cuda), ElementsAre(256));
  EXPECT_THAT(suite.batch.at(DeviceKind::emulator), ElementsAre(1));
  EXPECT_TRUE(suite.devices.empty());
  EXPECT_THAT(suite.passes, ElementsAre(Pass::forward, Pass::backward_data, Pass::backward_filter));
  EXPECT_THAT(suite.math, ElementsAre(MathMode::fp32));
  EXPECT_THAT(suite.layouts, ElementsAre(Layout::nchw));
  EXPECT_THAT(suite.algorithms, ElementsAre("*"));
  EXPECT_THAT(suite.threads, ElementsAre(0));
  EXPECT_FALSE(suite.first_backward_data);
  EXPECT_THAT(suite.measuring.cache, ElementsAre(CacheState::cold));
  EXPECT_THAT(suite.measuring.workspace_caps, ElementsAre(std::optional<int64_t>(268'435'456)));
  EXPECT_EQ(suite.measuring.sampling.time_limit_seconds, 15);
  EXPECT_EQ(suite.measuring.sampling.min_samples, 10);
  EXPECT_EQ(suite.measuring.sampling.max_samples, 200);
  EXPECT_EQ(suite.measuring.sampling.confidence_width, 0.005);
  EXPECT_EQ(suite.measuring.seed, 1u);
  ASSERT_EQ(suite.layers.size(), 1u);
  const Layer& layer = suite.layers[0];
  EXPECT_EQ(layer.shape.input, (Extent2{8, 9}));
  EXPECT_EQ(layer.shape.filter, (Extent2{3, 3}));
  EXPECT_EQ(layer.shape.stride, (Extent2{1, 1}));
  EXPECT_EQ(layer.shape.pad, (Extent2{0, 0}));
  EXPECT_EQ(layer.shape.dilation, (Extent2{1, 1}));
  EXPECT_EQ(layer.shape.groups, 1);
  EXPECT_EQ(layer.count, 1);
  EXPECT_FALSE(layer.first);
  EXPECT_EQ(layer.batch, std::nullopt);
}

TEST(Config, TakesOneValueWhereAListMayStand) {
  const Suite suite = suite_with(
      R"(, "batch": 3, "passes": "forward", "layouts": "nhwc", "threads": 2, "devices": "cpu", "algorithms": "fft*",
         "measuring": {"cache": "hot", "workspace_cap": "inf"})");
  for (DeviceKind kind : kDeviceKinds) EXPECT_THAT(suite.batch.at(kind), ElementsAre(3));
  EXPECT_THAT(suite.passes, ElementsAre(Pass::forward));
  EXPECT_THAT(suite.layouts, ElementsAre(Layout::nhwc));
  EXPECT_THAT(suite.threads, ElementsAre(2));
  EXPECT_THAT(suite.devices, ElementsAre(DeviceId(DeviceKind::cpu)));
  EXPECT_THAT(suite.algorithms, ElementsAre("fft*"));
  EXPECT_THAT(suite.measuring.cache, ElementsAre(CacheState::hot));
  EXPECT_THAT(suite.measuring.workspace_caps, ElementsAre(std::nullopt));
}

TEST(Config, BatchOfOneDeviceLeavesTheOthersAtTheirDefaults) {
  const Suite suite = suite_with(R"(, "batch": {"cpu": [1, 4]})");
  EXPECT_THAT(suite.batch.at(DeviceKind::cpu), ElementsAre(1, 4));
  EXPECT_THAT(suite.batch.at(DeviceKind::cuda), ElementsAre(256));
}

TEST(Config, ReadsWorkspaceCapsInAllTheirForms) {
  const Suite suite = suite_with(R"(, "measuring": {"workspace_cap": [0, "64KiB", "1GiB", "12", "inf"]})");
  EXPECT_THAT(suite.measuring.workspace_caps,
              ElementsAre(0, 65'536, 1'073'741'824, 12, std::optional<int64_t>()));
}

TEST(Config, MayStartWithAUtf8ByteOrderMark) {
  const std::string text = R"({"name": "n", "layers": [{"name": "a", "in_channels": 1, "input": 1,
                               "out_channels": 1, "filter": 1}]})";
  EXPECT_EQ(suite_of("\xEF\xBB\xBF" + text).name, "n");
}

TEST(Config, MayRepeatAKeyInDifferentObjects) {
  // "name", "batch" and so on stand in the suite and in each layer: only twice in one object is a fault.
  EXPECT_NO_THROW(suite_of(R"({"name": "n", "batch": 2, "layers": [
      {"name": "a", "in_channels": 1, "input": 1, "out_channels": 1, "filter": 1, "batch": 1},
      {"name": "b", "in_channels": 1, "input": 1, "out_channels": 1, "filter": 1, "batch": 1}]})"));
}

TEST(Config, WrittenAsJsonReadsBackToTheSameSuite) {
  const Suite suite = suite_with(
      R"(, "about": "a", "source": "s", "batch": {"cuda": [8, 9]}, "devices": ["cuda", "cpu"], "passes": ["backward_filter"],
         "math": ["tf32", "3xtf32"], "layouts": ["chwn"], "epilogues": ["relu", "bias+relu"], "algorithms": ["a*", "b?"], "threads": [1, 0],
         "first_backward_data": true, "measuring": {"cache": ["hot", "weights-cold"], "workspace_cap": ["8MiB", "inf"],
         "time_limit_s": 0.25, "min_samples": 7, "max_samples": 8, "confidence_width": 0.5, "seed": 99})");
  const auto json = to_json(suite);
  EXPECT_EQ(json["batch"]["cuda"], nlohmann::ordered_json({8, 9}));
  EXPECT_EQ(json["measuring"]["workspace_cap"], nlohmann::ordered_json({"8MiB", "inf"}));
  const Suite again = suite_of(json.dump());
  EXPECT_EQ(to_json(again), json);
  EXPECT_EQ(again.layers[0].shape, suite.layers[0].shape);
  EXPECT_THAT(again.epilogues, ElementsAre(Epilogue::relu, Epilogue::bias_relu));
  EXPECT_EQ(again.measuring.sampling.time_limit_seconds, 0.25);
}

TEST(Config, WrittenAsJsonKeepsWhatFollowsALayer) {
  const Suite suite = suite_of(
      R"({"name": "n", "layers": [{"name": "a", "in_channels": 1, "input": 9, "out_channels": 1, "filter": 3,
          "after": ["bias", "relu", "pool 3x3/2 pad 1"]},
         {"name": "b", "in_channels": 1, "input": 9, "out_channels": 1, "filter": 3, "after": "lrn"}]})");
  ASSERT_EQ(suite.layers[0].after.size(), 3U);
  EXPECT_EQ(suite.layers[1].after.front().kind, OperationKind::lrn);
  EXPECT_EQ(suite_of(to_json(suite).dump()).layers[0].after, suite.layers[0].after);
}

std::vector<std::string> shipped_configs() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(CONVSCOPE_CONFIG_FOLDER))
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Suite shipped(const std::string& file) {
  return load_suite(std::string(CONVSCOPE_CONFIG_FOLDER) + "/" + file);
}

TEST(ShippedConfigs, AreAllValidAndCalledAsTheirFile) {
  EXPECT_EQ(shipped_configs().size(), 25u);
  for (const std::string& path : shipped_configs()) {
    const Suite suite = load_suite(path);
    EXPECT_EQ(suite.name, std::filesystem::path(path).stem().string());
    EXPECT_FALSE(suite.source.empty()) << path;
    EXPECT_FALSE(suite.about.empty()) << path;
    EXPECT_LE(suite.about.size(), 76u) << path << ": `list configs` prints it on one line";
    EXPECT_EQ(to_json(suite_from_json(to_json(suite), path)), to_json(suite)) << path;
  }
}

// An image has 3 channels, a spectrogram 1. The UNets of Stable Diffusion read latents of 4; its decoder's
// come from an encoder that is trained with it.
TEST(ShippedConfigs, MarkEveryLayerThatReadsTheNetworksInputAsFirst) {
  for (const std::string& path : shipped_configs()) {
    const Suite suite = load_suite(path);
    for (const Layer& layer : suite.layers) {
      const int64_t channels = layer.shape.in_channels;
      const bool reads_latents = channels == 4 && suite.name.ends_with("_unet");
      EXPECT_EQ(layer.first, channels == 1 || channels == 3 || reads_latents) << path << " " << layer.name;
    }
  }
}

// Of the convolutions of one image, and of the network without what is no convolution. The networks' own
// sums, which are published, are those plus what each config's source names.
struct PublishedSums {
  const char* config;
  int64_t multiply_adds, weights;
  int64_t biases_and_others;  // parameters that are no weight of a convolution
  int64_t published_parameters;
};

constexpr PublishedSums kPublished[] = {
    {"convnext_tiny.json", 4'454'763'264, 27'756'000, 833'128, 28'589'128},
    {"efficientnet_b0.json", 384'534'752, 3'956'192, 1'332'356, 5'288'548},
    {"mobilenet_v3_large.json", 214'080'960, 2'942'472, 2'540'560, 5'483'032},
    {"yolov8n.json", 4'371'456'000, 3'146'160, 11'040, 3'157'200},
    {"stable_diffusion_unet.json", 221'973'053'440, 589'027'840, 270'493'124, 859'520'964},
    {"stable_diffusion_vae_decoder.json", 1'240'079'597'568, 49'452'432, 37'767, 49'490'199},
    {"stable_diffusion_xl_unet.json", 811'555'880'960, 333'232'640, 2'234'231'044, 2'567'463'684},
};

TEST(ShippedConfigs, HaveTheMultiplyAddsAndParametersThatArePublished) {
  for (const PublishedSums& sums : kPublished) {
    int64_t multiply_adds = 0, weights = 0;
    for (const Layer& layer : shipped(sums.config).layers) {
      ConvProblem problem = layer.shape;
      problem.batch = 1;
      multiply_adds += layer.count * std::llround(problem.nominal_flops() / 2);
      weights += layer.count * problem.elements(Role::filter);
    }
    EXPECT_EQ(multiply_adds, sums.multiply_adds) << sums.config;
    EXPECT_EQ(weights, sums.weights) << sums.config;
    EXPECT_EQ(weights + sums.biases_and_others, sums.published_parameters) << sums.config;
  }
}

TEST(ShippedConfigs, AlexNetIsTheSingleTowerOfThePaper) {
  const Suite suite = shipped("alexnet.json");
  ASSERT_EQ(suite.layers.size(), 5u);
  EXPECT_THAT(suite.batch.at(DeviceKind::cpu), ElementsAre(16));
  EXPECT_THAT(suite.batch.at(DeviceKind::cuda), ElementsAre(256));
  std::vector<int64_t> outputs;
  for (const Layer& layer : suite.layers) outputs.push_back(layer.shape.output().h);
  EXPECT_THAT(outputs, ElementsAre(55, 27, 13, 13, 13));
  ConvProblem conv2 = suite.layers[1].shape;
  conv2.batch = 256;
  EXPECT_NEAR(conv2.nominal_flops(), 229e9, 1e9);
}

TEST(ShippedConfigs, AlexNetFullEndsInAThousandClasses) {
  const Suite suite = shipped("alexnet_full.json");
  ASSERT_EQ(suite.layers.size(), 8u);
  EXPECT_EQ(suite.layers[5].shape.output(), (Extent2{1, 1}));
  EXPECT_EQ(suite.layers[7].shape.out_channels, 1000);
}

// Figure 1 of the paper, with a 2x2 pool before each lower level and a 2x2 up-convolution before each higher
// one, whose result is put beside as many channels of the way down.
TEST(ShippedConfigs, UNetIsTheOneOfThePaper) {
  const Suite suite = shipped("unet.json");
  std::vector<int64_t> inputs, outputs;
  for (const Layer& layer : suite.layers) {
    EXPECT_EQ(layer.shape.pad, (Extent2{0, 0})) << layer.name;
    inputs.push_back(layer.shape.input.h);
    outputs.push_back(layer.shape.output().h);
  }
  EXPECT_THAT(outputs, ElementsAre(570, 568, 282, 280, 138, 136, 66, 64, 30, 28, 54, 52, 102, 100, 198, 196,
                                   390, 388, 388));
  constexpr size_t kBottom = 8, kLast = 18, kConvolutionsOfThePaper = 23, kUpConvolutions = 4;
  ASSERT_EQ(suite.layers.size(), kConvolutionsOfThePaper - kUpConvolutions);
  for (size_t i = 1; i < suite.layers.size(); ++i) {
    const bool new_level = i % 2 == 0 && i != kLast;
    const int64_t before = outputs[i - 1], halved = before / 2, doubled = before * 2;
    EXPECT_EQ(inputs[i], !new_level ? before : i <= kBottom ? halved : doubled) << suite.layers[i].name;
    if (new_level && i <= kBottom) {
      EXPECT_EQ(before % 2, 0) << suite.layers[i].name << ": a pool drops nothing";
    }
    const int64_t channels = suite.layers[i - 1].shape.out_channels;
    EXPECT_EQ(suite.layers[i].shape.in_channels, channels) << suite.layers[i].name;
  }
  EXPECT_EQ(suite.layers[kLast].shape.out_channels, 2);
}

TEST(ShippedConfigs, SmokeReachesEveryKindOfShapeWithTinyTensors) {
  const Suite suite = shipped("smoke.json");
  std::set<int64_t> filters;
  bool strided = false, dilated = false, grouped = false, depthwise = false;
  for (const Layer& layer : suite.layers) {
    filters.insert(layer.shape.filter.h);
    strided |= layer.shape.stride.h > 1;
    dilated |= layer.shape.dilation.h > 1;
    grouped |= layer.shape.groups > 1 && !layer.shape.is_depthwise();
    depthwise |= layer.shape.is_depthwise();
    EXPECT_LT(layer.shape.nominal_flops(), 1e6) << layer.name;
  }
  EXPECT_THAT(filters, ::testing::IsSupersetOf({1, 3, 5, 11}));
  EXPECT_TRUE(strided && dilated && grouped && depthwise);
  EXPECT_THAT(suite.layouts, ElementsAre(Layout::nchw, Layout::nhwc));
}

std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

template <typename Keys>
std::set<std::string> as_set(const Keys& keys) {
  return {keys.begin(), keys.end()};
}

TEST(Schema, NamesTheSameKeysAndValuesAsTheLoader) {
  const auto schema = read_json_file(std::string(CONVSCOPE_CONFIG_FOLDER) + "/schema.json");
  const auto& defs = schema["$defs"];
  EXPECT_EQ(keys_of(schema["properties"]), as_set(kSuiteKeys));
  EXPECT_EQ(keys_of(defs["layer"]["properties"]), as_set(kLayerKeys));
  EXPECT_EQ(keys_of(defs["entry"]["properties"]), as_set(kGraphKeys));
  EXPECT_EQ(keys_of(defs["read"]["anyOf"][1]["properties"]), as_set(kReadKeys));
  EXPECT_EQ(keys_of(schema["properties"]["measuring"]["properties"]), as_set(kMeasuringKeys));
  const auto expect_names = [&](const std::string& definition, const auto& values) {
    std::set<std::string> names;
    for (auto value : values) names.emplace(name(value));
    EXPECT_EQ(defs[definition]["enum"].get<std::set<std::string>>(), names) << definition;
  };
  // Kinds of devices are the program's alone: the schema has how they are spelled.
  const std::regex kind_pattern(defs["deviceKind"]["pattern"].get<std::string>());
  for (std::string_view kind : kDeviceKindNames)
    EXPECT_TRUE(std::regex_match(std::string(kind), kind_pattern));
  EXPECT_EQ(defs["deviceName"]["anyOf"][1]["pattern"], "^cuda:[0-9]+$");
  expect_names("pass", kPasses);
  expect_names("math", kMathModes);
  expect_names("layout", kLayouts);
  expect_names("epilogue", kEpilogues);
  expect_names("cache", kCacheStates);
}

TEST(Schema, StatesTheLoadersDefaults) {
  const auto schema = read_json_file(std::string(CONVSCOPE_CONFIG_FOLDER) + "/schema.json");
  auto defaults = nlohmann::json::object();
  for (const auto& [key, property] : schema["properties"].items())
    if (property.contains("default")) defaults[key] = property["default"];
  for (const auto& [key, property] : schema["properties"]["measuring"]["properties"].items())
    if (property.contains("default")) defaults["measuring"][key] = property["default"];
  Suite suite;
  suite.name = "n";
  auto expected = nlohmann::json(to_json(suite));
  expected.erase("name");
  expected.erase("batch");  // by kind of device, which the program alone knows
  EXPECT_EQ(defaults, expected);
}

TEST(Suite, WritesAConfidenceWidthOnlyWhereOneWasGiven) {
  Suite suite = suite_from_json(nlohmann::json::parse(R"({"name": "n", "layers": [
      {"name": "l", "in_channels": 1, "input": 8, "out_channels": 1, "filter": 3}]})"),
                                "n.json");
  EXPECT_FALSE(to_json(suite)["measuring"].contains("confidence_width")) << "the machine decides";
  suite.measuring.sampling.confidence_width = 0.02;
  suite.measuring.is_width_given = true;
  const Suite again = suite_from_json(nlohmann::json(to_json(suite)), "n.json");
  EXPECT_TRUE(again.measuring.is_width_given);
  EXPECT_EQ(again.measuring.sampling.confidence_width, 0.02);
}

}  // namespace
}  // namespace convscope
