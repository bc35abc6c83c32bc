#include "bench/step/network_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "bench/step/test_steps.hpp"

namespace convscope {
namespace {

std::vector<std::string> texts(const std::vector<OperationProblem>& problems) {
  std::vector<std::string> all;
  for (const OperationProblem& problem : problems) all.push_back(to_text(problem));
  return all;
}

TEST(NetworkOperations, HaveTheAdditionsOfGradientsOfOutputsThatSeveralRead) {
  const std::vector<StepLayer> layers = step_layers_of(testing::residual_suite());
  // The output of `one` is read by a and by the projection, that of b by c and by a sum.
  const auto before = [&](size_t layer) { return texts(layers[layer].operations.at(0).added_before); };
  const auto behind = [&](size_t layer) { return texts(layers[layer].operations.at(0).added_behind); };
  EXPECT_THAT(before(0), ::testing::IsEmpty());
  EXPECT_THAT(behind(0), ::testing::IsEmpty());
  EXPECT_THAT(behind(1), ::testing::ElementsAre("add n=1 c=3 hw=2x2")) << "a's is there already";
  EXPECT_THAT(before(3), ::testing::ElementsAre("add n=1 c=4 hw=2x2")) << "c's is, and the sum's comes";
  const std::vector<LayerOperations> measured = operations_of_network(testing::residual_suite(), 2);
  EXPECT_THAT(texts(measured[1].problems), ::testing::Contains("add n=2 c=3 hw=2x2"));
}

TEST(NetworkOperations, OfAModelledStepAreThoseThatAreMeasured) {
  for (const auto& file : std::filesystem::directory_iterator(CONVSCOPE_SOURCE_FOLDER "/configs")) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".json") || name == "schema.json") continue;
    SCOPED_TRACE(name);
    const Suite suite = load_suite(file.path());
    std::set<std::string> measured;
    for (const LayerOperations& layer : operations_of_network(suite, 1))
      for (const OperationProblem& problem : layer.problems) measured.insert(to_text(problem));
    size_t additions = 0;
    for (const StepLayer& layer : step_layers_of(suite))
      for (const StepLayer::Operations& of : layer.operations) {
        additions += of.added_before.size() + of.added_behind.size();
        for (const auto* problems : {&of.before, &of.after, &of.added_before, &of.added_behind})
          for (const OperationProblem& problem : *problems)
            EXPECT_TRUE(measured.contains(to_text(problem))) << to_text(problem);
      }
    if (name == "resnet_50.json" || name == "googlenet_v1.json" || name == "inception_v3.json") {
      EXPECT_GT(additions, 0);
    }
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
