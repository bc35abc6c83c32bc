#include "bench/runner/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/core/error_of_test.hpp"
#include "bench/runner/config_value.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A layer of 4 channels that keeps its image of 6x5.
std::string same(const std::string& name, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "in_channels": 4, "input": [6, 5], "out_channels": 4, "filter": 1)" +
         (more.empty() ? "" : ", " + more) + "}";
}

Suite suite_of_layers(const std::string& layers, const std::string& graph = "") {
  const std::string text = R"({"name": "net", "batch": 2, "layers": [)" + layers + "]" +
                           (graph.empty() ? "" : R"(, "graph": [)" + graph + "]") + "}";
  return suite_from_json(parse_json(text, "net.json"), "net.json");
}

std::string error_of_layers(const std::string& layers, const std::string& graph = "") {
  return testing::error_of([&] { suite_of_layers(layers, graph); });
}

// A residual block of two layers that are the same, and a projection of another shape behind it.
const std::string kLayers =
    same("a", R"("count": 2, "after": "relu")") +
    R"(, {"name": "p", "in_channels": 4, "input": [6, 5], "out_channels": 8, "filter": 1})";
const std::string kGraph =
    R"({"name": "a"}, {"name": "b", "layer": "a", "after": ["add a", "relu"]}, {"name": "p", "reads": "a"})";

// A layer of 4 channels, of the image that is given, that reads and has before it what `more` says.
std::string wide(const std::string& name, int channels, const std::string& more,
                 const std::string& image = "[6, 5]") {
  return R"({"name": ")" + name + R"(", "in_channels": )" + std::to_string(channels) + R"(, "input": )" +
         image + R"(, "out_channels": 4, "filter": 1, )" + more + "}";
}

const std::string kInception =
    same("a") + "," + same("b") + "," + wide("c", 8, R"("reads": ["b", "a"])") + "," +
    wide("d", 8, R"("reads": ["a", "b"], "before": ["pool 3x3/2 pad 1", "mean 3x3/1 pad 1"])", "3") + "," +
    wide("e", 4, R"("before": "pool 2x2/1")", "2");

TEST(Graph, ALayerReadsSeveralOutputsAlongChannelsAndPoolsBeforeIt) {
  const std::vector<GraphNode> graph = graph_of(suite_of_layers(kInception));
  EXPECT_THAT(graph[2].reads, ElementsAre(1U, 0U)) << "in the order that is written";
  EXPECT_THAT(graph[2].before, IsEmpty());
  EXPECT_THAT(graph[3].reads, ElementsAre(0U, 1U));
  EXPECT_EQ(graph[3].before.size(), 2U);
  EXPECT_THAT(graph[4].reads, ElementsAre(3U)) << "the one before, which a pool makes fit";
}

// Part of what is read goes through a pool, as where Inception v3 halves its images.
const std::string kReduction =
    same("a") + "," + same("b") + "," + wide("half", 4, R"("stride": 2)") + "," +
    wide("c", 12, R"("reads": ["half", {"reads": ["a", "b"], "before": "pool 2x1/2"}])", "3") + "," +
    wide("d", 8,
         R"("reads": [{"reads": "a", "before": ["mean 2x1/2", "pool 3x3/1 pad 1"]}, "half"],
            "before": "mean 1x1/1")",
         "3");

TEST(Graph, ALayerReadsSomeOfSeveralOutputsThroughPools) {
  const std::vector<GraphNode> graph = graph_of(suite_of_layers(kReduction));
  EXPECT_THAT(graph[3].reads, ElementsAre(2U, 0U, 1U));
  ASSERT_EQ(graph[3].through.size(), 3U);
  EXPECT_THAT(graph[3].through[0], IsEmpty());
  EXPECT_THAT(graph[3].through[2], ElementsAre(*operation_from_text("pool 2x1/2")));
  EXPECT_EQ(graph[4].through[0].size(), 2U);
  EXPECT_THAT(graph[4].through[1], IsEmpty());
  EXPECT_EQ(graph[4].before.size(), 1U);
}

TEST(Graph, IsTheLayersOneAfterTheOtherWhereTheConfigSaysNothingElse) {
  const std::vector<GraphNode> graph = graph_of(
      suite_of_layers(same("a", R"("count": 2, "after": ["relu", "mean 1x1/1"])") + "," + same("b")));
  ASSERT_EQ(graph.size(), 3U);
  EXPECT_EQ(graph[0].name, "a#1");
  EXPECT_EQ(graph[0].after.size(), 1U) << "a pool follows the last copy";
  EXPECT_THAT(graph[0].reads, IsEmpty());
  EXPECT_EQ(graph[1].name, "a#2");
  EXPECT_THAT(graph[1].reads, ElementsAre(0U));
  EXPECT_EQ(graph[2].layer, 1U);
  EXPECT_THAT(graph[2].reads, ElementsAre(1U));
}

TEST(Graph, ALayerReadsAndAddsWhatItNames) {
  const std::vector<GraphNode> graph = graph_of(
      suite_of_layers(same("a") + "," + same("b") + "," +
                      same("c", R"("reads": "a", "after": ["batch_norm", "add b", "add a", "relu"])")));
  EXPECT_THAT(graph[2].reads, ElementsAre(0U));
  EXPECT_THAT(graph[2].added, ElementsAre(1U, 0U));
}

TEST(Graph, AnEntryTakesWhatItLeavesOutFromItsLayer) {
  const Suite suite = suite_of_layers(kLayers, kGraph);
  const std::vector<GraphNode> graph = graph_of(suite);
  ASSERT_EQ(graph.size(), 3U);
  EXPECT_EQ(graph[0].after, suite.layers[0].after);
  EXPECT_EQ(graph[1].layer, 0U);
  EXPECT_THAT(graph[1].reads, ElementsAre(0U)) << "the one before";
  EXPECT_THAT(graph[1].added, ElementsAre(0U));
  EXPECT_THAT(graph[2].reads, ElementsAre(0U));
}

TEST(Graph, ALayerThatIsFirstOrOfAnotherShapeReadsDataOfItsOwn) {
  const std::vector<GraphNode> graph = graph_of(suite_of_layers(
      same("a") + "," + same("b", R"("first": true)") + "," + same("c", R"("batch": 3)") +
      R"(, {"name": "d", "in_channels": 3, "input": [6, 5], "out_channels": 4, "filter": 1})"));
  for (const GraphNode& node : graph) EXPECT_THAT(node.reads, IsEmpty()) << node.name;
}

TEST(Graph, TheLastCopyOfALayerIsWhatThoseBehindItReadByItsName) {
  const std::vector<GraphNode> graph = graph_of(
      suite_of_layers(same("a", R"("count": 3)") + "," + same("b") + "," + same("c", R"("reads": "a")")));
  EXPECT_THAT(graph[4].reads, ElementsAre(2U));
  EXPECT_EQ(
      graph_of(suite_of_layers(same("a", R"("count": 2147483648)") + "," + same("b", R"("after": "add a")")),
               2)
          .size(),
      3U);
}

TEST(Graph, IsWrittenWithTheConfigAndReadsBack) {
  const Suite suite = suite_of_layers(kLayers, kGraph);
  const auto json = to_json(suite);
  const Suite again = suite_from_json(parse_json(json.dump(), "net.json"), "net.json");
  EXPECT_EQ(to_json(again), json);
  EXPECT_EQ(again.graph.size(), 3U);
  EXPECT_THAT(again.graph[2].reads, ElementsAre(ReadOutput{"a", {}}));
  const Suite layers = suite_of_layers(same("a") + "," + same("b") + "," + same("c", R"("reads": "a")"));
  const auto written = to_json(layers);
  EXPECT_EQ(written["layers"][2]["reads"], "a");
  EXPECT_EQ(to_json(suite_from_json(parse_json(written.dump(), "n"), "n")), written);
  const Suite inception = suite_of_layers(kInception);
  const Suite read_again = suite_from_json(parse_json(to_json(inception).dump(), "n"), "n");
  EXPECT_EQ(to_json(read_again), to_json(inception));
  EXPECT_THAT(read_again.layers[3].reads, ElementsAre(ReadOutput{"a", {}}, ReadOutput{"b", {}}));
  EXPECT_EQ(read_again.layers[3].before.size(), 2U);
  const Suite reduction = suite_of_layers(kReduction);
  const Suite same_reduction = suite_from_json(parse_json(to_json(reduction).dump(), "n"), "n");
  EXPECT_EQ(to_json(same_reduction), to_json(reduction));
  EXPECT_EQ(same_reduction.layers[4].reads, reduction.layers[4].reads);
}

TEST(Graph, RefusesWhatIsUnknownOrComesLaterByName) {
  EXPECT_EQ(
      error_of_layers(same("conv1") + "," + same("conv2", R"("reads": "conw1")")),
      "net.json: at /layers/1: \"conv2\" reads \"conw1\", which is no layer of the network; allowed is an "
      "earlier one; did you mean \"conv1\"?");
  EXPECT_EQ(
      error_of_layers(same("a", R"("after": "add b")") + "," + same("b")),
      "net.json: at /layers/0: \"a\" adds \"b\", which does not stand before it; allowed is an earlier one");
  EXPECT_THAT(error_of_layers(same("a", R"("after": "add a")")),
              HasSubstr("\"a\" adds \"a\", which does not stand before it"));
  EXPECT_THAT(
      error_of_layers(kLayers, R"({"name": "a"}, {"name": "b", "layer": "a", "reads": "p"}, {"name": "p"})"),
      HasSubstr("net.json: at /graph/1: \"b\" reads \"p\", which does not stand before it"));
  EXPECT_THAT(error_of_layers(kLayers, R"({"name": "a"}, {"name": "b", "layer": "q"}, {"name": "p"})"),
              AllOf(HasSubstr("net.json: at /graph/1/layer: found the text \"q\""), HasSubstr("/layers")));
  EXPECT_THAT(error_of_layers(kLayers, R"({"name": "a"}, {"name": "b"}, {"name": "p"})"),
              HasSubstr("at /graph/1/name: found the text \"b\""));
  EXPECT_THAT(error_of_layers(kLayers, R"({"name": "a"}, {"name": "a"}, {"name": "p"})"),
              HasSubstr("at /graph/1/name: found the text \"a\"; allowed is a name that no other entry has"));
}

TEST(Graph, RefusesShapesThatDiffer) {
  const std::string eight =
      R"({"name": "wide", "in_channels": 4, "input": [6, 5], "out_channels": 8, "filter": 1})";
  EXPECT_EQ(error_of_layers(eight + "," + same("b", R"("reads": "wide")")),
            "net.json: at /layers/1: \"b\" reads \"wide\", which gives 8 channels of 6x5, and \"b\" takes 4 "
            "channels of 6x5; name a layer of that shape, or correct what comes after one of them");
  EXPECT_THAT(
      error_of_layers(same("a") + "," + same("b", R"("after": ["pool 2x2/2", "add a"])")),
      HasSubstr("\"b\" adds \"a\", which gives 4 channels of 6x5, and \"b\" has there 4 channels of 3x2"));
  EXPECT_THAT(error_of_layers(same("a", R"("batch": 3)") + "," + same("b", R"("reads": "a")")),
              HasSubstr("4 channels of 6x5 at its own batch of 3"));
}

TEST(Graph, RefusesOutputsThatCannotBeReadTogether) {
  const std::string both = same("a") + "," + same("b", R"("after": "pool 2x2/2")");
  EXPECT_EQ(
      error_of_layers(both + "," + wide("c", 8, R"("reads": ["a", "b"])")),
      "net.json: at /layers/2: \"c\" reads \"a\", which gives 4 channels of 6x5, and \"b\", which gives 4 "
      "channels of 3x2; allowed together are outputs of the same image and batch");
  EXPECT_THAT(error_of_layers(same("a") + "," + same("b", R"("batch": 3)") + "," +
                              wide("c", 8, R"("reads": ["a", "b"])")),
              HasSubstr("\"b\", which gives 4 channels of 6x5 at its own batch of 3; allowed together"));
  EXPECT_EQ(
      error_of_layers(same("a") + "," + same("b") + "," + wide("c", 12, R"("reads": ["a", "b"])")),
      "net.json: at /layers/2: \"c\" reads \"a\", \"b\", which together give 8 channels of 6x5, and \"c\" "
      "takes 12 channels of 6x5; name layers whose channels add up to that, or correct what comes after "
      "one of them");
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 8, R"("reads": ["a", "b"])")),
              HasSubstr("\"b\" reads \"b\", which does not stand before it"));
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 8, R"("reads": ["a", "a"])")),
              HasSubstr("net.json: at /layers/1/reads/1: found the text \"a\"; allowed is every entry once"));
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 8, R"("reads": [])")),
              HasSubstr("net.json: at /layers/1/reads: found"));
}

TEST(Graph, RefusesPoolsThatCannotStandBeforeALayer) {
  EXPECT_EQ(
      error_of_layers(same("a") + "," + wide("b", 4, R"("before": ["mean 7x1/1"])")),
      "net.json: at /layers/1: \"b\" has \"mean 7x1/1\" before it, and what it reads is 6x5 there; allowed "
      "is a window that fits the image");
  EXPECT_EQ(
      error_of_layers(same("a") + "," + wide("b", 4, R"("before": ["pool 2x2/2"])")),
      "net.json: at /layers/1: \"b\" reads \"a\", which gives 4 channels of 3x2 after \"pool 2x2/2\", and "
      "\"b\" takes 4 channels of 6x5; name a layer of that shape, or correct what comes before or after one "
      "of them");
  EXPECT_THAT(
      error_of_layers(same("a") + "," + wide("b", 4, R"("before": "relu")")),
      AllOf(HasSubstr("net.json: at /layers/1/before: found the text \"relu\"; allowed is pool or mean with"),
            HasSubstr("in its \"after\"")));
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 4, R"("before": 3)")),
              HasSubstr("at /layers/1/before: found the number 3; allowed is pool or mean"));
  EXPECT_EQ(
      error_of_layers(wide("a", 4, R"("before": "pool 1x1/1")")),
      "net.json: at /layers/0: \"a\" has \"pool 1x1/1\" before it, and no layer stands there whose output it "
      "could read; leave out \"before\"");
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 4, R"("first": true, "before": "pool 1x1/1")")),
              HasSubstr("\"b\" has \"pool 1x1/1\" before it and its layer is first"));
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 4, R"("count": 2, "before": "pool 1x1/1")")),
              AllOf(HasSubstr("at /layers/1: layer \"b\" has \"pool 1x1/1\" before it; allowed is neither"),
                    HasSubstr("write a \"graph\"")));
}

TEST(Graph, RefusesWhatOnlyAnEntryOfAGraphCanSay) {
  EXPECT_THAT(error_of_layers(same("a") + "," + same("b", R"("count": 2, "after": ["add a", "relu"])")),
              AllOf(HasSubstr("at /layers/1: layer \"b\" has \"add a\";"), HasSubstr("write a \"graph\"")));
  EXPECT_THAT(
      error_of_layers(same("a") + "," + same("b", R"("reads": "a")"), R"({"name": "a"}, {"name": "b"})"),
      AllOf(HasSubstr("at /layers/1: layer \"b\" reads \"a\""), HasSubstr("in the graph's entry")));
  EXPECT_THAT(error_of_layers(same("a") + "," + wide("b", 4, R"("before": "pool 1x1/1")"),
                              R"({"name": "a"}, {"name": "b"})"),
              HasSubstr("layer \"b\" has \"pool 1x1/1\" before it"));
  EXPECT_THAT(error_of_layers(same("a") + "," + same("b", R"("first": true, "reads": "a")")),
              HasSubstr("\"b\" reads \"a\" and its layer is first"));
}

TEST(Graph, RefusesOutputsThatCannotBeReadThroughPools) {
  const auto error = [](const std::string& reads) {
    return error_of_layers(same("a") + "," + same("b") + "," + wide("c", 8, "\"reads\": " + reads));
  };
  EXPECT_EQ(
      error(R"(["a", {"reads": "b", "before": "pool 7x1/1"}])"),
      "net.json: at /layers/2: \"c\" reads \"b\" through \"pool 7x1/1\", and what it reads is 6x5 there; "
      "allowed is a window that fits the image");
  EXPECT_EQ(
      error(R"(["a", {"reads": "b", "before": "pool 2x2/2"}])"),
      "net.json: at /layers/2: \"c\" reads \"a\", which gives 4 channels of 6x5, and \"b\" through \"pool "
      "2x2/2\", which gives 4 channels of 3x2; allowed together are outputs of the same image and batch");
  EXPECT_THAT(
      error(R"([{"reads": ["a", "b"], "before": "mean 1x1/1"}, {"reads": "b", "before": "mean 1x1/1"}])"),
      HasSubstr("\"c\" reads \"b\" through \"mean 1x1/1\" twice; name it once"));
  EXPECT_THAT(error(R"([{"reads": "a"}])"), HasSubstr("at /layers/2/reads/0"));
  EXPECT_THAT(error(R"([{"reads": "a", "before": "relu"}])"),
              HasSubstr("at /layers/2/reads/0/before: found the text \"relu\"; allowed is pool or mean"));
  EXPECT_THAT(error(R"([{"reads": ["a", {"reads": "b", "before": "mean 1x1/1"}], "before": "mean 1x1/1"}])"),
              HasSubstr("at /layers/2/reads/0/reads/1"));
}

TEST(Graph, RefusesALayerThatItHasAnotherNumberOfTimesThanItsCount) {
  EXPECT_EQ(
      error_of_layers(kLayers, R"({"name": "a"}, {"name": "p"})"),
      "net.json: at /graph: it has layer \"a\" 1 time, and the layer's count is 2; correct one of them");
  EXPECT_THAT(error_of_layers(kLayers, R"({"name": "a"}, {"name": "b", "layer": "a"})"),
              HasSubstr("layer \"p\" 0 times"));
}

TEST(ShippedGraphs, GoogLeNetIsOneNetworkOfNineModulesAndTwoAuxiliaryClassifiers) {
  const Suite suite = load_suite(std::string(CONVSCOPE_CONFIG_FOLDER) + "/googlenet_v1.json");
  const std::vector<GraphNode> graph = graph_of(suite);
  ASSERT_EQ(graph.size(), 3U + 9 * 6 + 2);
  std::vector<std::string> own_data, pooled;
  std::set<std::vector<size_t>> concatenations;
  for (const GraphNode& node : graph) {
    if (node.reads.empty()) own_data.push_back(node.name);
    if (node.reads.size() > 1) concatenations.insert(node.reads);
    if (node.name.ends_with("pool_proj")) pooled.push_back(to_text(node.before.back()));
    if (node.name.starts_with("loss")) {
      EXPECT_EQ(node.reads.size(), 4U);
      EXPECT_EQ(to_text(node.before.at(0)), "mean 5x5/3");
    }
  }
  EXPECT_THAT(own_data, ElementsAre("conv1/7x7_s2"));
  EXPECT_EQ(concatenations.size(), 8U) << "none of the last module";
  for (const std::vector<size_t>& one : concatenations) EXPECT_EQ(one.size(), 4U);
  EXPECT_EQ(pooled, std::vector<std::string>(9, "pool 3x3/1 pad 1"));
}

TEST(ShippedGraphs, InceptionV3IsOneNetworkOfElevenModules) {
  const Suite suite = load_suite(std::string(CONVSCOPE_CONFIG_FOLDER) + "/inception_v3.json");
  const std::vector<GraphNode> graph = graph_of(suite);
  ASSERT_EQ(graph.size(), 94U);
  std::vector<std::string> own_data, means;
  std::set<std::pair<std::vector<size_t>, std::vector<std::vector<LayerOperation>>>> whole, halved;
  for (const GraphNode& node : graph) {
    if (node.reads.empty()) own_data.push_back(node.name);
    const bool is_halved =
        std::ranges::any_of(node.through, [](const auto& pools) { return !pools.empty(); });
    if (node.reads.size() > 1) (is_halved ? halved : whole).emplace(node.reads, node.through);
    if (!node.before.empty()) means.push_back(to_text(node.before.front()));
    EXPECT_TRUE(has(node.after, OperationKind::batch_norm)) << node.name;
  }
  EXPECT_THAT(own_data, ElementsAre("conv_conv2d"));
  EXPECT_EQ(whole.size(), 8U) << "of nine modules that keep the image all but the last";
  EXPECT_EQ(halved.size(), 2U);
  EXPECT_EQ(means, std::vector<std::string>(9, "mean 3x3/1 pad 1"));
}

TEST(ShippedGraphs, ResNet50IsOneChainOfSixteenBlocks) {
  const Suite suite = load_suite(std::string(CONVSCOPE_CONFIG_FOLDER) + "/resnet_50.json");
  const std::vector<GraphNode> graph = graph_of(suite);
  ASSERT_EQ(graph.size(), 53U);
  size_t blocks = 0;
  for (size_t i = 0; i < graph.size(); ++i) {
    EXPECT_EQ(graph[i].reads.size(), i > 0 ? 1U : 0U) << graph[i].name;
    EXPECT_TRUE(has(graph[i].after, OperationKind::batch_norm)) << graph[i].name;
    blocks += graph[i].added.size();
  }
  EXPECT_EQ(blocks, 16U);
}

}  // namespace
}  // namespace convscope
