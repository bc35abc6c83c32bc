#include "bench/operation/measure_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/operation/own_operations.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Whole vectors, tails, single pixels, planes that are not a multiple of anything.
const Activations kSmallShapes[] = {{2, 3, 5, 7}, {1, 8, 4, 4}, {3, 37, 3, 3}, {2, 6, 20, 17}};

std::vector<OperationProblem> problems() {
  std::vector<OperationProblem> all;
  for (const Activations& shape : kSmallShapes)
    for (OperationSort sort : kOperationSorts)
      for (bool backward : {false, true}) {
        if (sort == OperationSort::update && backward) continue;
        all.push_back({sort, backward, shape, *operation_from_text("pool 3x2/2 pad 1")});
      }
  return all;
}

// Our operations, with something done to the tensors after each run.
using Tamper = std::function<void(const OperationTensors&)>;
class Tampered final : public OperationAlgorithm {
 public:
  explicit Tampered(Tamper tamper) : tamper_(std::move(tamper)) {}
  std::string provider() const override { return "tampered"; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, int threads) const override {
    return std::make_unique<TamperedPlan>(own_->plan(problem, threads), tamper_);
  }

 private:
  struct TamperedPlan final : OperationPlan {
    TamperedPlan(std::unique_ptr<OperationPlan> plan, Tamper tamper)
        : plan_(std::move(plan)), tamper_(std::move(tamper)) {}
    int64_t kept_bytes() const override { return plan_->kept_bytes(); }
    void prepare(const OperationTensors& tensors, void* kept) override { plan_->prepare(tensors, kept); }
    void run(const OperationTensors& tensors, void* kept) override {
      plan_->run(tensors, kept);
      tamper_(tensors);
    }
    std::unique_ptr<OperationPlan> plan_;
    Tamper tamper_;
  };
  std::unique_ptr<OperationAlgorithm> own_ = own_operations();
  Tamper tamper_;
};

class Refuser final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "refuser"; }
  std::optional<std::string> refusal(const OperationProblem&) const override { return "it never does"; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem&, int) const override { return nullptr; }
};

std::vector<OperationRow> measured(const OperationProblem& problem,
                                   std::vector<const OperationAlgorithm*> providers) {
  CpuDevice device;
  std::vector<OperationRow> rows;
  const std::vector<LayerOperations> layers{{"one", {problem}}};
  OperationOptions options;
  options.seconds = options.core_patience_seconds = 0;
  measure_operations({}, layers, providers, device, options, [&](std::span<const OperationRow> some) {
    rows.insert(rows.end(), some.begin(), some.end());
  });
  return rows;
}

std::string note_of(const OperationProblem& problem, Tamper tamper) {
  const Tampered provider(std::move(tamper));
  const OperationRow row = measured(problem, {&provider}).front();
  EXPECT_EQ(row.outcome == OperationOutcome::wrong, !row.note.empty());
  EXPECT_EQ(row.time.n == 0, row.outcome == OperationOutcome::wrong) << "what is wrong has no time";
  return row.note;
}

TEST(MeasureOperations, OursAreRightInEveryShapeAndDirection) {
  const auto own = own_operations();
  for (const OperationProblem& problem : problems()) {
    const OperationRow row = measured(problem, {own.get()}).front();
    EXPECT_EQ(row.outcome, OperationOutcome::measured) << to_text(problem) << ": " << row.note;
    EXPECT_LT(*row.relative_l2, 2e-6) << to_text(problem);
    EXPECT_EQ(row.time.n, kFewestOperationSamples);
  }
}

TEST(MeasureOperations, CatchesAWrongElementAHoleAndWritesWhereNoneAreDue) {
  for (const OperationProblem& problem : problems()) {
    const SlotUse first = problem.slots().front(), last = problem.slots().back();
    const Slot written =
        first.use == Use::read ? last.use == Use::read ? problem.slots()[1].slot : last.slot : first.slot;
    EXPECT_EQ(note_of(problem, [](const OperationTensors&) {}), "");
    EXPECT_THAT(note_of(problem, [&](const OperationTensors& t) { t[written][1] += 5; }),
                HasSubstr("the relative L2 error of " + std::string(name(written))))
        << to_text(problem);
    EXPECT_THAT(note_of(problem, [&](const OperationTensors& t) { t[written][2] = NAN; }),
                HasSubstr("element 2 of " + std::string(name(written))));
    EXPECT_THAT(
        note_of(problem, [&](const OperationTensors& t) { t[written][problem.elements(written)] = 1; }),
        HasSubstr("writes outside"));
    for (const SlotUse& use : problem.slots())
      if (use.use == Use::read) {
        EXPECT_THAT(note_of(problem, [&](const OperationTensors& t) { t[use.slot][0] += 1; }),
                    HasSubstr("writes into " + std::string(name(use.slot))));
      }
  }
}

TEST(MeasureOperations, SaysWhyAProviderHasNoTimeAndMeasuresTheOthers) {
  const auto own = own_operations();
  const Refuser refuser;
  const auto rows = measured({OperationSort::relu, false, kSmallShapes[0], {}}, {own.get(), &refuser});
  EXPECT_EQ(rows[0].outcome, OperationOutcome::measured);
  EXPECT_EQ(rows[1].outcome, OperationOutcome::refused);
  EXPECT_EQ(rows[1].note, "it never does");
}

TEST(OperationData, HasNoTwoEqualMaximaInAWindow) {
  const BySlot<float> data = operation_data({OperationSort::pool, false, {2, 3, 40, 40}, {}}, 1);
  std::vector<float> plane(data[0].begin(), data[0].begin() + 1600);
  std::ranges::sort(plane);
  EXPECT_EQ(std::ranges::adjacent_find(plane), plane.end());
}

TEST(OperationsOf, AreThoseThatTheConfigNamesAndEachLayersUpdate) {
  const Suite suite = suite_from_json(nlohmann::json::parse(R"({"name": "small", "layers": [
    {"name": "one", "in_channels": 2, "input": [7, 6], "out_channels": 3, "filter": 3, "pad": 1,
     "after": ["bias", "relu", "pool 3x2/2"]},
    {"name": "two", "in_channels": 3, "input": [3, 3], "out_channels": 4, "filter": 2, "batch": 5}]})"),
                                      "small.json");
  const auto all = operations_of(suite, 2);
  std::vector<std::string> lines;
  for (const LayerOperations& layer : all)
    for (const OperationProblem& problem : layer.problems)
      if (!problem.backward) lines.push_back(layer.layer + " " + to_text(problem));
  EXPECT_THAT(
      lines, ElementsAre("one bias n=2 c=3 hw=7x6", "one bias+relu n=2 c=3 hw=7x6", "one relu n=2 c=3 hw=7x6",
                         "one pool 3x2/2 n=2 c=3 hw=7x6", "one update values=57", "two update values=52"));
}

}  // namespace
}  // namespace convscope
