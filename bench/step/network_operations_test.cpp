#include "bench/step/network_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bench/step/test_steps.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const std::vector<OperationProblem>& problems) {
  std::vector<std::string> all;
  for (const OperationProblem& problem : problems) all.push_back(to_text(problem));
  return all;
}

TEST(NetworkOperations, AreThoseThatTheConfigNamesAndEachLayersUpdateAndCode) {
  const Suite suite = suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 6], "out_channels": 3, "filter": 3, "pad": 1,
     "after": ["bias", "relu", "pool 3x2/2"]},
    {"name": "two", "in_channels": 3, "input": [3, 3], "out_channels": 4, "filter": 2, "batch": 5}]})"),
                                      "small.json");
  const auto all = operations_of_network(suite, 2);
  std::vector<std::string> lines;
  for (const LayerOperations& layer : all)
    for (const OperationProblem& problem : layer.problems)
      if (!problem.backward) lines.push_back(layer.layer + " " + to_text(problem));
  EXPECT_THAT(lines, ElementsAre("one bias n=2 c=3 hw=7x6", "one bias+relu n=2 c=3 hw=7x6",
                                 "one relu n=2 c=3 hw=7x6", "one pool 3x2/2 n=2 c=3 hw=7x6",
                                 "one update values=57", "one 1bit columns=3 values=18",
                                 "two update values=52", "two 1bit columns=4 values=12"));
}

TEST(NetworkOperations, AreOfALayerWithACountThoseOfAllItsPlacesInTheGraphOnce) {
  const Suite suite = suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 6], "out_channels": 2, "filter": 1, "count": 3,
     "after": ["batch_norm", "relu"]}],
    "graph": [{"name": "one"}, {"name": "two", "layer": "one", "after": "batch_norm"},
              {"name": "three", "layer": "one", "after": ["batch_norm", "add one", "relu"]}]})"),
                                      "small.json");
  const auto all = operations_of_network(suite, 2);
  ASSERT_EQ(all.size(), 1U);
  std::vector<std::string> lines;
  for (const OperationProblem& problem : all[0].problems)
    if (problem.sort != OperationSort::one_bit) lines.push_back(to_text(problem));
  EXPECT_THAT(lines, ElementsAre("batch_norm n=2 c=2 hw=7x6", "batch_norm backward n=2 c=2 hw=7x6",
                                 "batch_norm+relu n=2 c=2 hw=7x6", "batch_norm+relu backward n=2 c=2 hw=7x6",
                                 "relu n=2 c=2 hw=7x6", "relu backward n=2 c=2 hw=7x6", "add n=2 c=2 hw=7x6",
                                 "add+relu n=2 c=2 hw=7x6", "update values=10"));
}

TEST(NetworkOperations, HaveAPoolOfWhatSeveralLayersReadOnce) {
  const Suite suite = suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "a", "in_channels": 2, "input": [8, 6], "out_channels": 2, "filter": 1},
    {"name": "b", "in_channels": 2, "input": [8, 6], "out_channels": 3, "filter": 1},
    {"name": "c", "in_channels": 5, "input": [4, 3], "out_channels": 2, "filter": 1, "reads": ["a", "b"],
     "before": "pool 2x2/2"},
    {"name": "d", "in_channels": 5, "input": [4, 3], "out_channels": 2, "filter": 1, "reads": ["a", "b"],
     "before": ["pool 2x2/2", "mean 3x3/1 pad 1"]}]})"),
                                      "small.json");
  std::vector<std::string> lines;
  for (const LayerOperations& layer : operations_of_network(suite, 2))
    for (const OperationProblem& problem : layer.problems)
      if (problem.is_pool()) lines.push_back(layer.layer + " " + to_text(problem));
  EXPECT_THAT(lines,
              ElementsAre("c pool 2x2/2 n=2 c=5 hw=8x6", "c pool 2x2/2 backward n=2 c=5 hw=8x6",
                          "d mean 3x3/1 pad 1 n=2 c=5 hw=4x3", "d mean 3x3/1 pad 1 backward n=2 c=5 hw=4x3"));
}

TEST(NetworkOperations, HaveThePoolsOfPartsOfWhatIsReadOnce) {
  const Suite suite = suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "a", "in_channels": 2, "input": [9, 7], "out_channels": 2, "filter": [2, 1], "after": "mean 2x1/1"},
    {"name": "b", "in_channels": 2, "input": [7, 7], "out_channels": 3, "filter": 3, "stride": 2},
    {"name": "c", "in_channels": 5, "input": [3, 3], "out_channels": 2, "filter": 1,
     "reads": ["b", {"reads": "a", "before": "pool 3x3/2"}]},
    {"name": "d", "in_channels": 2, "input": [3, 3], "out_channels": 2, "filter": 1, "reads": "a",
     "before": ["pool 3x3/2", "mean 3x3/1 pad 1"]}]})"),
                                      "small.json");
  std::vector<std::string> lines;
  for (const LayerOperations& layer : operations_of_network(suite, 2))
    for (const OperationProblem& problem : layer.problems)
      if (problem.is_pool() && !problem.backward) lines.push_back(layer.layer + " " + to_text(problem));
  EXPECT_THAT(lines, ElementsAre("a mean 2x1/1 n=2 c=2 hw=8x7", "c pool 3x3/2 n=2 c=2 hw=7x7",
                                 "d mean 3x3/1 pad 1 n=2 c=2 hw=3x3"));
}

// Of the only copy of each layer, or of the copies of the only layer.
std::vector<StepLayer::Operations> step_operations_of(const Suite& suite) {
  std::vector<StepLayer::Operations> all;
  for (const StepLayer& layer : step_layers_of(suite))
    all.insert(all.end(), layer.operations.begin(), layer.operations.end());
  return all;
}

TEST(StepLayers, HaveInEachPlaceOfTheGraphWhatStandsThereWithItsReluAsOnePass) {
  const auto all = step_operations_of(suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 6], "out_channels": 2, "filter": 1, "count": 3,
     "after": ["batch_norm", "relu"]}],
    "graph": [{"name": "one"}, {"name": "two", "layer": "one", "after": ["bias", "relu", "lrn"]},
              {"name": "three", "layer": "one", "after": ["batch_norm", "add one", "relu"]}]})"),
                                                      "small.json"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(texts(all[0].forward), ElementsAre("batch_norm+relu n=1 c=2 hw=7x6"));
  EXPECT_THAT(texts(all[0].backward),
              ElementsAre("add n=1 c=2 hw=7x6", "batch_norm+relu backward n=1 c=2 hw=7x6"))
      << "its output is read twice";
  EXPECT_THAT(texts(all[1].forward), ElementsAre("bias+relu n=1 c=2 hw=7x6", "lrn n=1 c=2 hw=7x6"));
  EXPECT_THAT(texts(all[1].backward),
              ElementsAre("lrn backward n=1 c=2 hw=7x6", "bias+relu backward n=1 c=2 hw=7x6"));
  EXPECT_THAT(texts(all[2].forward), ElementsAre("batch_norm n=1 c=2 hw=7x6", "add+relu n=1 c=2 hw=7x6"));
  EXPECT_THAT(texts(all[2].backward),
              ElementsAre("relu backward n=1 c=2 hw=7x6", "batch_norm backward n=1 c=2 hw=7x6"));
  const char* const updates[] = {"update values=10", "update values=6", "update values=10"};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_THAT(all[i].backward_of_reads, ::testing::IsEmpty());
    EXPECT_THAT(texts(all[i].updates), ElementsAre(updates[i]));
  }
}

TEST(StepLayers, HaveEachPoolOfThePartsThatANodeReads) {
  const auto all = step_operations_of(suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "a", "in_channels": 2, "input": [8, 6], "out_channels": 2, "filter": 1},
    {"name": "b", "in_channels": 2, "input": [8, 6], "out_channels": 2, "filter": 1},
    {"name": "c", "in_channels": 4, "input": [4, 3], "out_channels": 2, "filter": 1,
     "reads": [{"reads": "a", "before": "pool 2x2/2"}, {"reads": "b", "before": "pool 2x2/2"}]}]})"),
                                                      "small.json"));
  const std::string pool = "pool 2x2/2 n=1 c=2 hw=8x6", backward = "pool 2x2/2 backward n=1 c=2 hw=8x6";
  const std::string copy = "copy n=1 c=2 hw=4x3";
  EXPECT_THAT(texts(all[2].forward), ElementsAre(pool, pool, copy, copy));
  EXPECT_THAT(texts(all[2].backward_of_reads), ElementsAre(copy, copy, backward, backward));
}

TEST(StepLayers, HaveTheAdditionsOfGradientsOfOutputsThatSeveralRead) {
  const auto all = step_operations_of(testing::residual_suite());
  // The output of `one` is read by a and by the projection, that of b by c and by a sum.
  EXPECT_THAT(texts(all[1].backward_of_reads), ElementsAre("add n=1 c=3 hw=2x2")) << "a's is there already";
  EXPECT_THAT(texts(all[3].backward), ::testing::Contains("add n=1 c=4 hw=2x2"))
      << "c's is, and the sum's comes";
  const std::vector<LayerOperations> measured = operations_of_network(testing::residual_suite(), 2);
  EXPECT_THAT(texts(measured[1].problems), ::testing::Contains("add n=2 c=3 hw=2x2"));
}

TEST(StepLayers, HaveACopyOfEachPartOfAConcatenationAndOfGradientsThatAreCopied) {
  const auto all = step_operations_of(testing::inception_suite());
  const auto copies = [&](const std::vector<OperationProblem>& problems) {
    std::vector<std::string> found;
    for (const std::string& text : texts(problems))
      if (text.starts_with("copy")) found.push_back(text);
    return found;
  };
  const std::string a = "copy n=1 c=2 hw=6x5", b = "copy n=1 c=3 hw=6x5", d = "copy n=1 c=4 hw=2x2";
  const StepLayer::Operations &c = all[4], &f = all[7], &g = all[8];
  EXPECT_THAT(copies(c.forward), ElementsAre(a, b));
  EXPECT_THAT(copies(c.backward_of_reads), ElementsAre(a, b));
  EXPECT_THAT(copies(f.forward), ElementsAre(d, d));
  EXPECT_THAT(copies(f.backward_of_reads), ElementsAre(d, d));
  EXPECT_THAT(copies(f.backward), ElementsAre(d)) << "the gradient of g's first sum";
  EXPECT_THAT(copies(g.forward), ::testing::IsEmpty()) << "sums in place";
  const auto residual = step_operations_of(testing::residual_suite());
  EXPECT_THAT(texts(residual[4].forward), ElementsAre("bias+relu n=1 c=4 hw=2x2", d, "add n=1 c=4 hw=2x2"))
      << "a sum behind a ReLU is not in place";
}

TEST(StepLayers, HaveOperationsThatAreMeasured) {
  for (const auto& file : std::filesystem::directory_iterator(CONVSCOPE_SOURCE_FOLDER "/configs")) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".json") || name == "schema.json") continue;
    SCOPED_TRACE(name);
    const Suite suite = load_suite(file.path());
    std::set<std::string> measured;
    for (const LayerOperations& layer : operations_of_network(suite, 1))
      for (const OperationProblem& problem : layer.problems) measured.insert(to_text(problem));
    for (const StepLayer::Operations& of : step_operations_of(suite))
      for (const auto* problems : {&of.forward, &of.backward, &of.backward_of_reads, &of.updates})
        for (const std::string& text : texts(*problems)) EXPECT_TRUE(measured.contains(text)) << text;
  }
}

TEST(NetworkOperations, OfALayerWithACountAreThoseOfTwoCopies) {
  Suite suite = testing::small_suite();
  suite.layers.resize(1);
  suite.layers[0].count = int64_t{1} << 40;
  EXPECT_EQ(operations_of_network(suite, 2).size(), 1);
}

}  // namespace
}  // namespace convscope
