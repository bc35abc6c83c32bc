#include "bench/parallel/schedule/replay_step.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

using Plan = std::vector<ReplayedReduction>;

// No network is as slow as this: each exchange of sums takes 3 ms more. Where told so, a bit is lost on the
// way to rank 1.
class SlowFabric final : public Fabric {
 public:
  SlowFabric(Fabric& fabric, bool is_faulty) : fabric_(fabric), is_faulty_(is_faulty) {}
  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    fabric_.exchange(sent, received);
    const bool is_sum = !received.empty() && received[0].bytes.size() > 2 * sizeof(double) * 4;
    if (!is_sum) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    if (is_faulty_ && rank() == 1) received[0].bytes[2] ^= std::byte{0x80};
  }

 private:
  Fabric& fabric_;
  bool is_faulty_;
};

StepRow row_of(Reduction reduction, int ranks) {
  StepRow row;
  row.of.fleet = ReplayedNetwork("threads", "").fleet({ranks, ranks});
  row.of.reduction = reduction;
  row.schedule.compute_seconds = 0.02;
  return row;
}

// The rows as rank 0 has them in the end.
std::vector<StepRow> replayed(int ranks, const std::vector<Plan>& plans, std::vector<StepRow> rows,
                              bool is_faulty = false) {
  const std::vector<StepRow> given = rows;
  run_ranks(ranks, [&](Fabric& fabric) {
    SlowFabric slow(fabric, is_faulty);
    std::vector<StepRow> mine = given;
    replay_steps(slow, 0, plans, mine);
    if (fabric.rank() == 0) rows = mine;
  });
  return rows;
}

// Sleep is never shorter than asked for, so that these bounds hold on any machine.
TEST(ReplayedSteps, TakeAtLeastTheirComputeAndWhatIsLeftOfTheirCommunication) {
  const Plan at_the_end{{0.02, 1000, 0}}, early{{0.001, 500, 0}, {0.002, 500, 0}};
  for (int ranks : {2, 4}) {
    const auto rows = replayed(ranks, {at_the_end, early},
                               {row_of(Reduction::tree, ranks), row_of(Reduction::tree, ranks)});
    for (const StepRow& row : rows) {
      ASSERT_EQ(row.outcome, RowOutcome::good) << row.note;
      EXPECT_GE(row.schedule.step_seconds, 0.02);
      EXPECT_GE(*row.highest, row.schedule.step_seconds);
      EXPECT_LE(*row.lowest, row.schedule.step_seconds);
    }
    // Up the tree and down it.
    EXPECT_GE(rows[0].schedule.step_seconds, 0.02 + 2 * 0.003);
    EXPECT_GE(rows[0].schedule.communication_seconds, 2 * 0.003);
    EXPECT_GE(rows[1].schedule.communication_seconds, 2 * 2 * 0.003);
  }
}

TEST(ReplayedSteps, EndWhenRankZeroSaysWhateverTheOthersWereGiven) {
  for (int patient : {0, 1})
    run_ranks(2, [&](Fabric& fabric) {
      std::vector<StepRow> rows{row_of(Reduction::tree, 2)};
      rows[0].schedule.compute_seconds = 0.001;
      replay_steps(fabric, fabric.rank() == patient ? 1e9 : 0, std::vector<Plan>{{{0.001, 10, 0}}}, rows);
      EXPECT_GT(rows[0].schedule.step_seconds, 0);
    });
}

TEST(ReplayedSteps, SleepWhileTheCodecWouldWork) {
  const auto rows = replayed(2, {{{0.02, 100, 0.004}, {0.02, 100, 0.004}}}, {row_of(Reduction::striped, 2)});
  EXPECT_GE(rows[0].schedule.communication_seconds, 4 * 0.003 + 2 * 0.004);
  EXPECT_GE(rows[0].schedule.step_seconds, 0.02 + 4 * 0.003 + 2 * 0.004);
}

TEST(ReplayedSteps, UpdateWhenAllIsSummed) {
  StepRow row = row_of(Reduction::tree, 2);
  row.schedule.update_seconds = 0.01;  // of the 0.02 of compute
  const auto rows = replayed(2, {{{0.01, 1000, 0}}}, {row});
  EXPECT_GE(rows[0].schedule.step_seconds, 0.01 + 2 * 0.003 + 0.01);
}

TEST(ReplayedSteps, HaveTheSpansOfARoundInTheirSchedule) {
  StepRow row = row_of(Reduction::tree, 2);
  row.schedule.update_seconds = 0.005;
  row.schedule.spans = {{"a backward_filter", false, 0, 0.015, 0},
                        {"reduce a", true, 0.01, 0.01, 4000},
                        {"reduce b", true, 0.015, 0.015, 4000},
                        {"update", false, 0.015, 0.02, 0}};
  const auto rows = replayed(2, {{{0.01, 1000, 0}, {0.015, 1000, 0.002}}}, {row});
  const std::vector<Span>& spans = rows[0].schedule.spans;
  ASSERT_EQ(spans.size(), 4);
  EXPECT_EQ(spans[0].end, 0.015);
  EXPECT_GE(spans[1].begin, 0.01);
  EXPECT_GE(spans[1].end, spans[1].begin + 0.003);  // rank 0 waits for one of the two
  EXPECT_GE(spans[2].begin, std::max(0.015, spans[1].end));
  EXPECT_GE(spans[2].end, spans[2].begin + 0.003 + 0.002);
  EXPECT_GE(spans[3].begin, spans[2].end);
  EXPECT_DOUBLE_EQ(spans[3].end, spans[3].begin + 0.005);
  EXPECT_EQ(spans[1].name, "reduce a");
  EXPECT_EQ(spans[1].bytes, 4000);
}

TEST(ReplayedSteps, SumRightWithEveryReductionAndOnlyARowThatIsNotRefused) {
  std::vector<StepRow> rows;
  std::vector<Plan> plans;
  for (Reduction reduction : kReductions) {
    rows.push_back(row_of(reduction, 4));
    plans.push_back({{0, 101, 0}, {0.001, 77, 0}});
  }
  rows.push_back(row_of(Reduction::ring, 4));
  rows.back().outcome = RowOutcome::refused;
  plans.emplace_back();
  rows = replayed(4, plans, rows);
  for (size_t i = 0; i < kReductions.size(); ++i) EXPECT_EQ(rows[i].outcome, RowOutcome::good);
  EXPECT_EQ(rows.back().outcome, RowOutcome::refused);
  EXPECT_EQ(rows.back().schedule.step_seconds, 0);
}

TEST(ReplayedSteps, WhoseSumsAreNotExactAreWrongAndHaveNoTime) {
  const auto rows = replayed(2, {{{0, 1000, 0}}}, {row_of(Reduction::ring, 2)}, true);
  EXPECT_EQ(rows[0].outcome, RowOutcome::wrong);
  EXPECT_EQ(rows[0].reason, "inexact_integers");
  EXPECT_FALSE(rows[0].has_time());
}

TEST(ReplayedSteps, OfOneRankOnlySleep) {
  const auto rows = replayed(1, {{{0.01, 1000, 0}}}, {row_of(Reduction::ring, 1)});
  EXPECT_GE(rows[0].schedule.step_seconds, 0.02);
  EXPECT_EQ(rows[0].schedule.communication_seconds, 0);
}

}  // namespace
}  // namespace convscope
