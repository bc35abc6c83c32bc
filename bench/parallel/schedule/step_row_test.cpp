#include "bench/parallel/schedule/step_row.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "bench/parallel/network/model_error.hpp"
#include "bench/parallel/network/simulated_network.hpp"
#include "bench/parallel/schedule/replay_step.hpp"
#include "bench/parallel/schedule/step_report.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A network of two layers, each pass of which takes so many seconds an image with `fast`, and half as long
// again with `slow`.
const std::vector<StepLayer>& network_of_two() {
  static const std::vector<StepLayer> layers{
      {"a", parse_problem("forward n=1 c=3 hw=8x8 k=10 rs=3x3"), 1, true},
      {"b", parse_problem("forward n=1 c=10 hw=6x6 k=20 rs=3x3"), 2, false}};
  return layers;
}

ResultRecord record(const StepLayer& layer, Pass pass, int64_t batch, const std::string& algorithm,
                    double seconds) {
  ResultRecord record;
  record.key.network = "net";
  record.key.layer = layer.name;
  record.key.problem = layer.shape;
  record.key.problem.pass = pass;
  record.key.problem.batch = batch;
  record.key.algorithm = algorithm;
  record.outcome = Outcome::measured;
  record.device.name = "a processor";
  Measurement& time = record.time.emplace();
  time.full.statistics = {10, seconds, 0.9 * seconds, 1.2 * seconds};
  time.stop_reason = "converged";
  return record;
}

std::vector<ResultRecord> records_at(std::initializer_list<int64_t> batches) {
  std::vector<ResultRecord> records;
  for (int64_t batch : batches)
    for (const StepLayer& layer : network_of_two())
      for (Pass pass : kPasses) {
        // Twice the time for 4 times the batch: a division of the larger one's time would be wrong.
        const double seconds = batch == 8 ? 0.02 : 0.01;
        records.push_back(record(layer, pass, batch, "fast.cpu", seconds));
        records.push_back(record(layer, pass, batch, "slow.cpu", 1.5 * seconds));
      }
  return records;
}

class Steps : public ::testing::Test {
 protected:
  explicit Steps(std::initializer_list<int64_t> batches = {2, 8}) : records_(records_at(batches)) {
    contests_ = contests(records_);
    scopes_ = scopes_of(contests_);
    of_.network = "net";
    of_.batch = 8;
    of_.fleet = {{4, 4}, Basis::modelled, "closed form", "", Links{{1e6, 1e-3}, {1e6, 1e-3}}};
  }
  StepRow step(const std::vector<StepLayer>& layers = network_of_two()) const {
    ClosedForm links(*of_.fleet.links);
    return modelled_step(of_, layers, scopes_.at(0), links, "convscope run net --batch 2");
  }

  std::vector<ResultRecord> records_;
  std::vector<Contest> contests_;
  std::vector<Scope> scopes_;
  StepCase of_;
};

std::string printed_steps(const std::vector<StepRow>& rows, size_t columns) {
  std::ostringstream out;
  print_steps(out, rows, Look(false, columns));
  return out.str();
}

// 4 bytes a value and a bias: a has 10 (27 + 1) and b 20 (90 + 1) of them, twice.
constexpr double kGradientBytes = 4 * (10 * 28 + 2 * 20 * 91);

TEST_F(Steps, TakeComputeFromRowsAtTheBatchOfOneGpu) {
  const StepRow row = step();
  ASSERT_EQ(row.outcome, RowOutcome::good) << row.note;
  // a: forward and backward-filter; b twice: three passes; 10 ms each at batch 2.
  EXPECT_NEAR(row.schedule.compute_seconds, 8 * 0.01, 1e-12);
  EXPECT_DOUBLE_EQ(row.gradient_bytes, kGradientBytes);
  EXPECT_NEAR(row.schedule.communication_seconds, 1.5 * kGradientBytes / 1e6 + 6 * 1e-3, 1e-12);
  EXPECT_NEAR(row.schedule.step_seconds, row.schedule.compute_seconds + row.schedule.communication_seconds,
              1e-12);
  EXPECT_NEAR(*row.lowest, 0.9 * 0.08 + row.schedule.communication_seconds, 1e-12);
  EXPECT_NEAR(*row.highest, 1.2 * 0.08 + row.schedule.communication_seconds, 1e-12);
  EXPECT_NEAR(*row.speed_up(), 8 * 0.02 / row.schedule.step_seconds, 1e-12);
  EXPECT_FALSE(row.suspect);
}

KeptOperation operation_row(const std::string& problem, double seconds) {
  KeptOperation row;
  row.problem = problem;
  row.time = {seconds, 0.9 * seconds, 1.2 * seconds};
  return row;
}

// Bias and ReLU of layer a; a pool before the first copy of b, a normalisation behind the second; updates.
std::vector<StepLayer> network_with_operations() {
  std::vector<StepLayer> layers = network_of_two();
  const OperationProblem update{OperationSort::update, false, {1, 1, 1, 100}, {}};
  const auto of = [](OperationSort sort, bool backward, const Activations& shape) {
    return OperationProblem{sort, backward, shape, {}};
  };
  const Activations a{1, 10, 6, 6}, b{1, 20, 4, 4};
  layers[0].operations = {
      {{of(OperationSort::bias_relu, false, a)}, {of(OperationSort::bias_relu, true, a)}, {}, {update}}};
  layers[1].operations = {{{of(OperationSort::pool, false, a)},
                           {of(OperationSort::add, false, b)},
                           {of(OperationSort::pool, true, a), of(OperationSort::add, false, a)},
                           {update}},
                          {{of(OperationSort::lrn, false, b)}, {of(OperationSort::lrn, true, b)}, {}, {}}};
  return layers;
}

TEST_F(Steps, CountOperationsWhereThereAreRowsOfThem) {
  EXPECT_EQ(step(network_with_operations()).operation_seconds, std::nullopt);
  const std::vector<StepLayer> layers = network_with_operations();
  std::vector<KeptOperation> rows;
  for (const int64_t batch : {2, 8})
    for (const StepLayer& layer : layers)
      for (const StepLayer::Operations& of : layer.operations)
        for (const auto& problems : {of.forward, of.backward, of.backward_of_reads, of.updates})
          for (OperationProblem problem : problems) {
            if (problem.sort != OperationSort::update) problem.in.n = batch;
            rows.push_back(operation_row(to_text(problem), problem.sort == OperationSort::update ? 0.004
                                                           : problem.backward                    ? 0.002
                                                                                                 : 0.001));
          }
  const auto keep_all_but = [&](const std::string& problem) {
    OperationTimes& times = scopes_.at(0).operations.emplace();
    for (const KeptOperation& row : rows)
      if (row.problem.find(problem) == std::string::npos) times[row.problem] = &row;
  };
  keep_all_but("nothing");
  StepRow row = step(layers);
  ASSERT_EQ(row.outcome, RowOutcome::good) << row.note;
  EXPECT_NEAR(*row.operation_seconds, 3 * 0.003 + 2 * 0.001 + 2 * 0.004, 1e-12);
  EXPECT_THAT(printed_steps({row}, 400), HasSubstr("stands between the convolutions, but the loss\n"));
  const auto seconds_of = [&](const std::string& name) {
    const auto span = std::ranges::find(row.schedule.spans, name, &Span::name);
    return span == row.schedule.spans.end() ? -1 : span->end - span->begin;
  };
  EXPECT_NEAR(seconds_of("b#1 backward operations"), 0.001, 1e-12) << "an added gradient";
  EXPECT_NEAR(seconds_of("b#1 backward of what it reads"), 0.002 + 0.001, 1e-12) << "a pool's, and another";
  EXPECT_NEAR(row.schedule.compute_seconds, 8 * 0.01 + *row.operation_seconds, 1e-12);
  EXPECT_NEAR(row.schedule.update_seconds, 2 * 0.004, 1e-12);
  EXPECT_NEAR(row.schedule.step_seconds, row.schedule.compute_seconds + row.schedule.communication_seconds,
              1e-12);
  EXPECT_NEAR(*row.lowest, 0.9 * row.schedule.compute_seconds + row.schedule.communication_seconds, 1e-12);
  EXPECT_NEAR(*row.speed_up(), (8 * 0.02 + *row.operation_seconds) / row.schedule.step_seconds, 1e-12);
  std::vector<std::string> spans;
  for (const Span& span : row.schedule.spans)
    if (span.name.find("operations") != std::string::npos || span.name.find("reads") != std::string::npos)
      spans.push_back(span.name);
  EXPECT_THAT(spans, ::testing::ElementsAre("a forward operations", "b#1 forward operations",
                                            "b#2 forward operations", "b#2 backward operations",
                                            "b#1 backward operations", "b#1 backward of what it reads",
                                            "a backward operations"));

  keep_all_but("lrn backward n=2 ");
  row = step(layers);
  EXPECT_EQ(row.reason, "no_operations");
  EXPECT_THAT(row.note, HasSubstr("whose records --rows has, of lrn backward n=2 c=20 hw=4x4"));
  keep_all_but("lrn backward n=8 ");
  row = step(layers);
  EXPECT_EQ(row.speed_up(), std::nullopt);
  EXPECT_THAT(row.note, HasSubstr("no speed-up: at batch 8 there is no right record of lrn backward n=8"));
}

TEST_F(Steps, OfWeakScalingAreComparedWithTheSameShareOnOneGpu) {
  of_.is_weak = true;
  const StepRow row = step();
  EXPECT_NEAR(*row.speed_up(), 4 * 8 * 0.01 / row.schedule.step_seconds, 1e-12);
}

TEST_F(Steps, WithoutLatencyAndAllHiddenAreLimitedByCompute) {
  of_.fleet.links = Links{{1e12, 0}, {1e12, 0}};
  of_.overlap = {OverlapKind::layer, 0};
  const StepRow row = step();
  EXPECT_EQ(row.schedule.reductions, 3);
  EXPECT_NEAR(row.schedule.step_seconds, row.schedule.compute_seconds, 1e-6);
  EXPECT_NEAR(*row.speed_up(), 2, 1e-4);
}

TEST_F(Steps, TakeOneAlgorithmWhereItIsChosen) {
  of_.choose = "slow";
  EXPECT_NEAR(step().schedule.compute_seconds, 1.5 * 8 * 0.01, 1e-12);
  of_.choose = "unheard.of";
  const StepRow row = step();
  EXPECT_EQ(row.reason, "no_rows");
  EXPECT_THAT(row.note, HasSubstr("of unheard.of"));
}

TEST_F(Steps, AreRefusedWithTheCommandThatMeasuresTheMissingBatch) {
  of_.fleet.ranks = {2, 2};
  const StepRow row = step();
  EXPECT_EQ(row.outcome, RowOutcome::refused);
  EXPECT_EQ(row.reason, "no_rows");
  EXPECT_EQ(row.note,
            "at batch 4 there is no right record of a forward, a backward_filter, b forward and 2 more");
  EXPECT_EQ(row.rerun, "convscope run net --batch 2");
  EXPECT_FALSE(row.speed_up());
}

TEST_F(Steps, HaveNoSpeedUpWithoutRowsOfTheWholeBatchAndSaySo) {
  of_.batch = 16;
  of_.fleet.ranks = {8, 8};
  const StepRow row = step();
  EXPECT_EQ(row.outcome, RowOutcome::good);
  EXPECT_FALSE(row.speed_up());
  EXPECT_THAT(row.note, HasSubstr("no speed-up: at batch 16"));
}

TEST_F(Steps, RefuseABatchThatCannotBeSharedAndRanksThatTheReductionCannotTake) {
  of_.fleet.ranks = {3, 3};
  EXPECT_EQ(step().reason, "batch_not_divisible");
  of_.batch = 6;
  of_.reduction = Reduction::halving;
  EXPECT_EQ(step().reason, "not_power_of_two");
}

TEST_F(Steps, WithOneBitGradientsSendTheirCodeStriped) {
  of_.compression = Compression::one_bit;
  of_.reduction = Reduction::striped;
  // a: 10 columns of 27 values in 1 word, b: 20 of 90 in 3, two levels each; biases in FP32.
  const double coded = 10 * (4 + 8) + 4 * 10 + 2 * (20 * (12 + 8) + 4 * 20);
  EXPECT_NEAR(step().schedule.communication_seconds, 1.5 * coded / 1e6 + 2 * 1e-3, 1e-12);
  EXPECT_DOUBLE_EQ(step().busiest_bytes, 1.5 * coded);
  EXPECT_EQ(step().codec_seconds, 0);
  of_.codec_bytes_per_second = 1e6;
  EXPECT_NEAR(step().codec_seconds, kGradientBytes / 1e6, 1e-12);
  EXPECT_NEAR(step().schedule.communication_seconds, (1.5 * coded + kGradientBytes) / 1e6 + 2 * 1e-3, 1e-12);
}

// Every reduction takes a second; at most so many GPUs.
class ASecond final : public NetworkModel {
 public:
  Fleet fleet(const Ranks& ranks) override {
    return {ranks, Basis::modelled, "a second", "1.0", {}, "f", "h"};
  }
  std::optional<Refusal> refusal(Reduction, const Ranks& ranks) override {
    return ranks.count > 4 ? std::optional(Refusal{"too_few_hosts", "four at most"}) : std::nullopt;
  }
  Cost all_reduce(Reduction, double bytes, const Ranks& ranks) override {
    return ranks.count == 1 ? Cost{} : Cost{1, 2 * bytes};
  }
};

TEST_F(Steps, TakeTheTimesOfReductionsFromTheNetworkWithOverlapToo) {
  ASecond network;
  for (const auto& [overlap, reductions] :
       {std::pair(Overlap{OverlapKind::none, 0}, 1), {Overlap{OverlapKind::layer, 0}, 3}}) {
    of_.fleet = network.fleet({4, 4});
    of_.overlap = overlap;
    const StepRow row = modelled_step(of_, network_of_two(), scopes_.at(0), network, "");
    EXPECT_DOUBLE_EQ(row.schedule.communication_seconds, reductions);
    // With overlap the first reduction begins when b's first gradient is ready, after 50 of 80 ms.
    const double begin = overlap.kind == OverlapKind::none ? 0.08 : 0.04;
    EXPECT_NEAR(row.schedule.step_seconds, begin + reductions, 1e-9);
    EXPECT_NEAR(*row.lowest, 0.9 * begin + reductions, 1e-9);
    EXPECT_DOUBLE_EQ(row.busiest_bytes, 2 * kGradientBytes);
    EXPECT_NEAR(*row.alone_seconds, 0.16, 1e-12);
    const auto json = row_json(step_columns(), row);
    EXPECT_EQ(json["fabric"], "a second");
    EXPECT_EQ(json["fabric_version"], "1.0");
    EXPECT_EQ(json["platform_hash"], "h");
    EXPECT_TRUE(json["link_gbs"].is_null());
  }
  of_.fleet = network.fleet({8, 8});
  const StepRow refused = modelled_step(of_, network_of_two(), scopes_.at(0), network, "");
  EXPECT_EQ(refused.reason, "too_few_hosts");
  EXPECT_FALSE(refused.has_time());
}

// Links on which each sum takes a tenth longer than by the closed form.
class TenthLonger final : public NetworkModel {
 public:
  explicit TenthLonger(std::optional<Links> links) : links_(links) {}
  Fleet fleet(const Ranks& ranks) override {
    return {ranks, Basis::modelled, std::string(kSimGrid), "SimGrid 1", links_};
  }
  std::optional<Refusal> refusal(Reduction, const Ranks&) override { return std::nullopt; }
  Cost all_reduce(Reduction reduction, double bytes, const Ranks& ranks) override {
    const Cost cost = all_reduce_cost(reduction, bytes, ranks, {{1e6, 1e-3}, {1e6, 1e-3}});
    return {1.1 * cost.seconds, cost.busiest_bytes};
  }

 private:
  std::optional<Links> links_;
};

TEST_F(Steps, ThatAreSimulatedOnLinksHaveTheClosedFormBesideThem) {
  const StepRow by_formula = step();
  EXPECT_FALSE(by_formula.closed_form_seconds);
  TenthLonger network(of_.fleet.links), of_a_file(std::nullopt);
  of_.fleet = network.fleet({4, 4});
  const StepRow row = modelled_step(of_, network_of_two(), scopes_.at(0), network, "");
  ASSERT_TRUE(row.closed_form_seconds);
  EXPECT_DOUBLE_EQ(*row.closed_form_seconds, by_formula.schedule.step_seconds);
  EXPECT_NEAR(row.schedule.step_seconds,
              *row.closed_form_seconds + 0.1 * by_formula.schedule.communication_seconds, 1e-12);
  EXPECT_DOUBLE_EQ(row_json(step_columns(), row)["closed_form_ms"].get<double>(),
                   1e3 * *row.closed_form_seconds);
  const std::string printed = printed_steps({row}, 200);
  const double longer = 100 * (row.schedule.step_seconds / *row.closed_form_seconds - 1);
  EXPECT_THAT(printed, HasSubstr("closed form ms  simulated longer by"));
  EXPECT_THAT(printed, HasSubstr(fmt::format("+{:.2f}%", longer)));

  of_.fleet = of_a_file.fleet({4, 4});  // a platform file's links may be shared
  EXPECT_FALSE(
      modelled_step(of_, network_of_two(), scopes_.at(0), of_a_file, "").closed_form_seconds.has_value());
}

TEST_F(Steps, ThatAreReplayedReduceTheBytesOfTheModelWhenItsGradientsAreReady) {
  ReplayedNetwork network("mpi", "Open MPI 4.1.4");
  of_.fleet = network.fleet({4, 4});
  of_.overlap = {OverlapKind::layer, 0};
  const StepRow row = modelled_step(of_, network_of_two(), scopes_.at(0), network, "");
  EXPECT_DOUBLE_EQ(row.schedule.compute_seconds, 0.08);
  EXPECT_DOUBLE_EQ(row.busiest_bytes, 1.5 * kGradientBytes);
  const auto reductions = replayed_reductions(of_, network_of_two(), scopes_.at(0));
  ASSERT_EQ(reductions.size(), 3U);
  // After three times forward: b's second copy, its first, and a, which is without backward-data.
  for (const auto& [i, ready, values] :
       {std::tuple(0, 0.04, 20 * 91), {1, 0.06, 20 * 91}, {2, 0.08, 10 * 28}}) {
    EXPECT_NEAR(reductions[static_cast<size_t>(i)].ready, ready, 1e-12);
    EXPECT_EQ(reductions[static_cast<size_t>(i)].values, static_cast<size_t>(values));
  }
  of_.compression = Compression::one_bit;
  of_.codec_bytes_per_second = 1e6;
  const auto coded = replayed_reductions(of_, network_of_two(), scopes_.at(0));
  EXPECT_LT(coded[0].values, reductions[0].values / 10);
  EXPECT_NEAR(coded[0].codec_seconds, 4e-6 * 20 * 91, 1e-12);
}

TEST_F(Steps, OfOneGpuCommunicateNothing) {
  of_.fleet.ranks = {1, 1};
  const StepRow row = step();
  EXPECT_EQ(row.schedule.communication_seconds, 0);
  EXPECT_DOUBLE_EQ(*row.speed_up(), 1);
  EXPECT_EQ(row.busiest_bytes, 0);
}

TEST_F(Steps, OnRecordsThatWereDisturbedSaySo) {
  for (ResultRecord& record : records_) record.health.disturbed = true;
  EXPECT_TRUE(step().suspect);
}

TEST_F(Steps, OfDifferentCircumstancesAreNeverMixed) {
  std::vector<ResultRecord> both = records_;
  both.back().key.threads = 7;
  const std::vector<Contest> mixed = contests(both);
  EXPECT_EQ(scopes_of(mixed).size(), 2U);
}

TEST_F(Steps, ArePrintedAsTablesWithRefusalsAndTheirCommands) {
  std::vector<StepRow> rows{step()};
  of_.overlap = {OverlapKind::layer, 0};
  rows.push_back(step());
  of_.compression = Compression::one_bit;
  of_.reduction = Reduction::striped;
  rows.push_back(step());
  of_.fleet.ranks = {2, 2};
  rows.push_back(step());
  const std::string printed = printed_steps(rows, 140);
  for (const char* part :
       {"scaling: net, strong scaling, best of each layer; times in ms", "overlap: net", "compression: net",
        "communication: modelled, closed form; link 0.001 GB/s, 1000 us", "striped, 1bit", "a processor",
        "batch 8 on 2 GPUs: no_rows: at batch 4 there is no right record of",
        "    convscope run net --batch 2\n"})
    EXPECT_THAT(printed, HasSubstr(part));
}

TEST_F(Steps, ArePrintedWithTheirNodesWhateverTheOrderOfTheirRanks) {
  of_.fleet.ranks = {4, 2};
  std::vector<StepRow> rows{step()};
  of_.fleet.ranks = {1, 1};
  rows.push_back(step());
  EXPECT_THAT(printed_steps(rows, 400), HasSubstr("closed form, nodes of 2; link"));
}

TEST_F(Steps, ThatAreModelledAndNoOthersSayHowFarTheModelIsFromWhatWasMeasured) {
  std::vector<StepRow> rows{step()};
  of_.overlap = {OverlapKind::layer, 0};
  rows.push_back(step());
  const std::string said = model_error_text(kStepError, Look(false, 140)), both = printed_steps(rows, 140);
  EXPECT_THAT(
      said, HasSubstr(fmt::format("median {:.0f}%, largest {:.0f}%", kStepError.median, kStepError.largest)));
  EXPECT_THAT(both.substr(0, both.find("overlap: net")), HasSubstr(said));
  EXPECT_THAT(both.substr(both.find("overlap: net")), HasSubstr(said));
  const auto in_json = [&] { return row_json(step_columns(), rows.front()); };
  EXPECT_DOUBLE_EQ(in_json()["model_error_median"].get<double>(), kStepError.median / 100);
  EXPECT_DOUBLE_EQ(in_json()["model_error_largest"].get<double>(), kStepError.largest / 100);
  for (StepRow& row : rows) row.of.fleet.basis = Basis::replayed;
  EXPECT_THAT(printed_steps(rows, 140), Not(HasSubstr("model's error")));
  EXPECT_TRUE(in_json()["model_error_median"].is_null());
}

TEST_F(Steps, AreTracedWithComputeAndCommunicationApart) {
  of_.overlap = {OverlapKind::layer, 0};
  const std::vector<StepRow> rows{step()};
  const auto trace = chrome_trace(rows);
  double last_end = 0;
  int reductions = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["tid"], event["cat"] == "communication" ? 2 : 1);
    reductions += event["cat"] == "communication" ? 1 : 0;
    last_end = std::max(last_end, event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(reductions, 3);
  EXPECT_NEAR(last_end, 1e6 * rows[0].schedule.step_seconds, 1e-3);
}

TEST_F(Steps, HaveACellForEveryColumn) {
  const StepRow row = step();
  const auto json = row_json(step_columns(), row);
  EXPECT_EQ(json["batch_per_gpu"], 2);
  EXPECT_EQ(json["scaling"], "strong");
  EXPECT_NEAR(json["efficiency"].get<double>(), *row.speed_up() / 4, 1e-12);
  EXPECT_TRUE(json["codec_ms"].is_null());
  for (const auto& column : step_columns()) EXPECT_NO_THROW(column.cell(StepRow{})) << column.name;
}

TEST(StepFormat, IsWhatTheDocumentationSays) {
  EXPECT_EQ(read_file(CONVSCOPE_SOURCE_FOLDER "/docs/step_format.md"), step_format_markdown())
      << "regenerate it: convscope list columns steps --markdown > docs/step_format.md";
}

}  // namespace
}  // namespace convscope
