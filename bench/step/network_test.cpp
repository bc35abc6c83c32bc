#include "bench/step/network.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace convscope {
namespace {

StepNetwork network(const std::string& layers, bool fuse = false) {
  return network_of(
      suite_from_json(nlohmann::json::parse(R"({"name": "net", "batch": 4, "layers": [)" + layers + "]}"),
                      "net.json"),
      4, fuse);
}
std::string layer(const std::string& name, int64_t in, int64_t image, int64_t out, const std::string& more) {
  return nlohmann::json{{"name", name}, {"in_channels", in}, {"input", {image, image}}, {"out_channels", out}}
             .dump()
             .insert(1, R"("filter": 3, "pad": 1, )" + more) +
         "";
}

TEST(StepNetwork, IsOneChainWhereEveryLayerReadsWhatTheOneBeforeGives) {
  const StepNetwork net =
      network(layer("a", 3, 8, 6, R"("after": ["relu", "pool 2x2/2"], )") + "," + layer("b", 6, 4, 5, ""));
  EXPECT_EQ(net.chains(), 1);
  EXPECT_TRUE(net.layers[0].begins_chain());
  EXPECT_EQ(net.layers[1].reads, std::vector<size_t>{0});
  EXPECT_FALSE(net.layers[0].ends_chain);
  EXPECT_TRUE(net.layers[1].ends_chain);
  EXPECT_EQ(net.layers[0].output(), (Activations{4, 6, 4, 4}));
}

TEST(StepNetwork, BeginsAChainWhereShapesDoNotMeet) {
  const StepNetwork net = network(layer("a", 3, 8, 6, "") + "," + layer("b", 6, 4, 5, "") + "," +
                                  layer("c", 5, 4, 5, R"("batch": 3, )"));
  EXPECT_EQ(net.chains(), 3);
  EXPECT_EQ(net.layers[2].problem.batch, 3);
  for (const NetworkLayer& one : net.layers) EXPECT_TRUE(one.begins_chain() && one.ends_chain);
}

TEST(StepNetwork, RepeatsALayerByItsCountAndPoolsAfterTheLast) {
  const StepNetwork net = network(layer("a", 6, 8, 6, R"("count": 3, "after": ["relu", "pool 2x2/2"], )"));
  ASSERT_EQ(net.layers.size(), 3U);
  EXPECT_EQ(net.chains(), 1);
  EXPECT_EQ(net.layers[1].name, "a#2");
  EXPECT_EQ(net.layers[1].after.size(), 1U);
  EXPECT_EQ(net.layers[2].after.size(), 2U);
}

TEST(StepNetwork, ReadsAndAddsWhatTheGraphSaysAndEndsWhereNoLayerDoes) {
  const StepNetwork net =
      network(layer("a", 3, 8, 6, "") + "," + layer("b", 6, 8, 6, R"("after": "batch_norm", )") + "," +
              layer("c", 6, 8, 6, R"("reads": "a", "after": ["add b", "relu"], )") + "," +
              layer("head", 6, 8, 2, R"("reads": "a", )"));
  EXPECT_EQ(net.chains(), 1);
  EXPECT_EQ(net.layers[2].reads, std::vector<size_t>{0});
  EXPECT_EQ(net.layers[2].added, std::vector<size_t>{1});
  std::vector<bool> ends;
  for (const NetworkLayer& one : net.layers) ends.push_back(one.ends_chain);
  EXPECT_EQ(ends, (std::vector<bool>{false, false, true, true})) << "two losses";
}

TEST(StepNetwork, FusesBiasAndReluThatComeRightAfterAConvolution) {
  const auto epilogue = [](const std::string& after, bool fuse = true) {
    return network(layer("a", 3, 8, 6, after.empty() ? "" : "\"after\": " + after + ", "), fuse)
        .layers[0]
        .problem.epilogue;
  };
  EXPECT_EQ(epilogue(R"(["bias", "relu", "lrn"])"), Epilogue::bias_relu);
  EXPECT_EQ(epilogue(R"(["bias", "pool 2x2/2", "relu"])"), Epilogue::bias);
  EXPECT_EQ(epilogue(R"(["relu"])"), Epilogue::relu);
  EXPECT_EQ(epilogue(R"(["pool 2x2/2", "relu"])"), Epilogue::none);
  EXPECT_EQ(epilogue(R"(["batch_norm", "relu"])"), Epilogue::none);
  EXPECT_EQ(epilogue(""), Epilogue::none);
  EXPECT_EQ(epilogue(R"(["bias", "relu"])", false), Epilogue::none);
}

TEST(StepNetwork, OnlyTheLayerThatReadsTheImageNeedsNoGradientOfIt) {
  const StepNetwork net = network(layer("a", 3, 8, 6, R"("first": true, )") + "," + layer("b", 6, 8, 5, ""));
  EXPECT_FALSE(net.layers[0].needs_input_gradient);
  EXPECT_TRUE(net.layers[1].needs_input_gradient);
}

}  // namespace
}  // namespace convscope
