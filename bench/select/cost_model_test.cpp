// Predictions from operations and ceilings, and their regret, on hand-made records.
#include "bench/select/cost_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/ranking/test_contests.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

const Ceilings kCeilings{1, 100, 10, 20, 40};  // 100 flops and 10 copied bytes a second
const ConvProblem kProblem = right("any", 1).key.problem;

// A record that says it does `flops` and moves `bytes`.
ResultRecord does(ResultRecord r, double flops, double bytes) {
  r.operations = {flops, 0, bytes};
  r.ceilings = kCeilings;
  return r;
}

TEST(CostModel, AddsArithmeticAndMemoryUp) {
  const std::vector<PlannedAlgorithm> algorithms{{"a", {200, 100, 50}}};
  const auto predictions = predict(kProblem, algorithms, kCeilings);
  ASSERT_EQ(predictions.size(), 1u);
  EXPECT_DOUBLE_EQ(predictions[0].compute_seconds, 3);
  EXPECT_DOUBLE_EQ(predictions[0].memory_seconds, 5);
  EXPECT_DOUBLE_EQ(predictions[0].seconds(), 8);
}

TEST(CostModel, CountsWhatStaysInTheCachesAtTheirBandwidth) {
  const std::vector<PlannedAlgorithm> algorithms{{"a", {100, 0, 20, 120}}};
  EXPECT_DOUBLE_EQ(predict(kProblem, algorithms, kCeilings)[0].memory_seconds, 2 + 120 / 40.0);
  Ceilings unmeasured = kCeilings;
  unmeasured.cache_read_bytes = 0;
  EXPECT_DOUBLE_EQ(predict(kProblem, algorithms, unmeasured)[0].memory_seconds, 2 + 120 / 10.0);
}

TEST(CostModel, PutsTheFastestFirstAndEqualOnesByName) {
  const std::vector<PlannedAlgorithm> algorithms{
      {"slow", {900, 0, 0}}, {"b", {100, 0, 0}}, {"a", {100, 0, 0}}};
  const auto predictions = predict(kProblem, algorithms, kCeilings);
  ASSERT_EQ(predictions.size(), 3u);
  EXPECT_EQ(predictions[0].algorithm, "a");
  EXPECT_EQ(predictions[1].algorithm, "b");
  EXPECT_EQ(predictions[2].algorithm, "slow");
}

TEST(CostModel, PredictsNothingWithoutOperationsOrCeilings) {
  const std::vector<PlannedAlgorithm> algorithms{{"library", {}}};
  EXPECT_TRUE(predict(kProblem, algorithms, kCeilings).empty());
  const std::vector<PlannedAlgorithm> known{{"a", {100, 0, 0}}};
  EXPECT_TRUE(predict(kProblem, known, {}).empty());
}

TEST(CostModel, TakesTheRateOfTheMathMode) {
  Ceilings ceilings = kCeilings;
  ceilings.tf32_flops = 1000;
  const std::vector<PlannedAlgorithm> algorithms{{"a", {1000, 0, 0}}};
  ConvProblem tf32 = kProblem;
  tf32.math = MathMode::tf32;
  EXPECT_DOUBLE_EQ(predict(tf32, algorithms, ceilings)[0].seconds(), 1);
  EXPECT_DOUBLE_EQ(predict(kProblem, algorithms, ceilings)[0].seconds(), 10);
}

TEST(CostModel, LooksAtNoTimeOfTheRecords) {
  const Records records{does(right("cheap.cpu", 9), 100, 0), does(right("dear.cpu", 1), 200, 0)};
  const auto all = contests(records);
  EXPECT_EQ(predict(all[0]).front().algorithm, "cheap.cpu");
  const auto judgements = judge_predictions(networks(all)[0]);
  ASSERT_EQ(judgements.size(), 1u);
  EXPECT_DOUBLE_EQ(judgements[0].regret, 8);
  EXPECT_EQ(judgements[0].rank, 2);
}

TEST(CostModel, NeverChoosesWhatRefusedButMayChooseWhatIsWrong) {
  ResultRecord refusal = refused("no.cpu", Outcome::unsupported, Reason::unsupported_stride, "no");
  const Records records{does(right("right.cpu", 1), 200, 0), does(wrong_record("wrong.cpu", 1), 100, 0),
                        does(refusal, 1, 0)};
  const auto all = contests(records);
  EXPECT_EQ(predict(all[0]).size(), 2u);
  const auto judgements = judge_predictions(networks(all)[0]);
  EXPECT_EQ(judgements[0].choice, nullptr);
  EXPECT_EQ(judgements[0].missing, "accuracy");
}

TEST(CostModel, NeverChoosesALibrarysRecordWhoseCountIsTheDirectMethods) {
  const Records records{does(library_record("onednn.gemm.cpu", 1, "gemm"), 100, 0),
                        does(right("ours.cpu", 2), 200, 0)};
  const auto all = contests(records);
  const auto predictions = predict(all[0]);
  ASSERT_EQ(predictions.size(), 1u);
  EXPECT_EQ(predictions[0].algorithm, "ours.cpu");
}

TEST(CostModel, NeverChoosesARecordOfOurMethodWhoseArithmeticIsALibrarys) {
  ResultRecord gemm = does(right("im2col_gemm.cpu", 1), 100, 0);
  gemm.algorithm.provider = "openblas";
  gemm.algorithm.family = "gemm";
  const Records records{gemm, does(right("ours.cpu", 2), 200, 0)};
  const auto all = contests(records);
  const auto predictions = predict(all[0]);
  ASSERT_EQ(predictions.size(), 1u);
  EXPECT_EQ(predictions[0].algorithm, "ours.cpu");
}

TEST(CostModel, SaysWhereItCannotChoose) {
  const Records records{does(right("library.cpu", 1), 0, 0)};
  const auto all = contests(records);
  const auto judgements = judge_predictions(networks(all)[0]);
  EXPECT_EQ(judgements[0].choice, nullptr);
  EXPECT_THAT(judgements[0].missing, ::testing::HasSubstr("no record says what it does"));
}

TEST(PredictionReport, HasTheChooserBesideTheLibrarys) {
  const Records records{does(right("ours.cpu", 0.010), 100, 0),
                        does(library_record("onednn.auto.cpu", 0.015, "jit"), 0, 0)};
  const Selection selection = select(records, default_choosers());
  std::ostringstream out;
  print_predictions(out, selection, false);
  EXPECT_THAT(out.str(), ::testing::HasSubstr("convscope's cost model"));
  EXPECT_THAT(out.str(), ::testing::HasSubstr("50.0%"));
  const auto json = predictions_json(selection);
  EXPECT_EQ(json[0]["scores"]["own"]["regret"], 0.0);
  EXPECT_NEAR(json[0]["scores"]["onednn.auto.cpu"]["regret"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(json[0]["scores"]["onednn.auto.cpu"]["regret_among_own"], 0.0);  // the only record of its library
  EXPECT_EQ(json[0]["choices"][0]["chosen"], "ours.cpu");
}

}  // namespace
}  // namespace convscope
