// Who may win a contest, and what belongs to one.
#include "bench/select/contest.hpp"

#include <gtest/gtest.h>

#include "bench/select/test_rows.hpp"

namespace convscope {
namespace {

TEST(Contest, OfNoRowsThereIsNone) {
  EXPECT_TRUE(contests({}).empty());
  EXPECT_TRUE(networks({}).empty());
}

TEST(Contest, IsWonByTheFastestRightRow) {
  const Rows rows{row("slow.cpu", 3), row("fast.cpu", 1), row("middle.cpu", 2)};
  const auto all = contests(rows);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].able.size(), 3u);
  EXPECT_EQ(all[0].able[0].row, &rows[1]);
  EXPECT_EQ(all[0].able[2].row, &rows[0]);
}

TEST(Contest, EqualTimesAreOrderedByName) {
  const Rows rows{row("b.cpu", 1), row("a.cpu", 1)};
  EXPECT_EQ(contests(rows)[0].able[0].row->key.algorithm, "a.cpu");
}

TEST(Contest, AWrongRowNeverWinsButIsTheBestAtAnyError) {
  const Rows rows{row("right.cpu", 2), wrong_row("wrong.cpu", 1)};
  const auto all = contests(rows);
  ASSERT_EQ(all[0].able.size(), 1u);
  EXPECT_EQ(all[0].able[0].row, &rows[0]);
  ASSERT_EQ(all[0].wrong.size(), 1u);
  EXPECT_EQ(best_at_any_error(all[0]), &rows[1]);
}

TEST(Contest, ASlowerWrongRowIsNotTheBestAtAnyError) {
  const Rows rows{row("right.cpu", 2), wrong_row("wrong.cpu", 3)};
  EXPECT_EQ(best_at_any_error(contests(rows)[0]), &rows[0]);
}

TEST(Contest, OfRefusedRowsOnlyHasNoOracle) {
  const Rows rows{refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, "no")};
  const auto all = contests(rows);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].able.empty());
  EXPECT_EQ(all[0].without_time.size(), 1u);
  EXPECT_EQ(best_at_any_error(all[0]), nullptr);
}

TEST(Contest, AWrongRowWithoutATimeIsNotTheBestAtAnyError) {
  Rows rows{wrong_row("untimed.cpu", 1), wrong_row("timed.cpu", 5)};
  rows[0].time.reset();
  const auto all = contests(rows);
  EXPECT_EQ(best_at_any_error(all[0]), &rows[1]);
}

TEST(Contest, AThrottledRowRanksLast) {
  Rows rows{row("hot.cpu", 1), row("cool.cpu", 2)};
  rows[0].health.throttled = true;
  EXPECT_EQ(contests(rows)[0].able[0].row, &rows[1]);
}

TEST(Contest, RepeatsAreOneEntryWithTheMiddleTime) {
  const Rows rows{row("a.cpu", 3), row("a.cpu", 1), row("a.cpu", 2), row("b.cpu", 4), row("b.cpu", 1.5)};
  const auto all = contests(rows);
  ASSERT_EQ(all[0].able.size(), 2u);
  EXPECT_EQ(all[0].entry("a.cpu")->row, &rows[2]);
  EXPECT_EQ(all[0].entry("a.cpu")->repeats.size(), 3u);
  EXPECT_EQ(all[0].entry("b.cpu")->row, &rows[4]);  // of two, the faster
}

TEST(Contest, WhoIsWrongInOneRepeatIsWrong) {
  const Rows rows{row("a.cpu", 1), wrong_row("a.cpu", 1), row("b.cpu", 2)};
  const auto all = contests(rows);
  EXPECT_EQ(all[0].entry("a.cpu"), nullptr);
  EXPECT_EQ(all[0].able[0].row, &rows[2]);
}

TEST(Contest, IsAmongRowsOfTheSameCircumstancesOnly) {
  Rows rows{row("a.cpu", 1), row("b.cpu", 2), row("c.cpu", 3), row("d.cpu", 4),
            row("e.cpu", 5), row("f.cpu", 6), row("g.cpu", 7), row("h.cpu", 8)};
  rows[1].key.threads = 1;
  rows[2].key.cache = CacheState::hot;
  rows[3].key.workspace_cap.reset();
  rows[4].key.problem.math = MathMode::tf32;
  rows[5].key.problem.layout = Layout::nhwc;
  rows[6].device.name = "Another processor";
  rows[7].key.device_index = 1;  // two GPUs of one name
  const auto all = contests(rows);
  EXPECT_EQ(all.size(), 8u);
  EXPECT_EQ(networks(all).size(), 8u);
}

TEST(Contest, TheSeedIsNoCircumstance) {
  Rows rows{row("a.cpu", 1), row("b.cpu", 2)};
  rows[1].key.seed = 7;
  EXPECT_EQ(contests(rows).size(), 1u);
}

TEST(Contest, ANetworkHasItsLayersAndPassesTogether) {
  const Rows rows{row("a.cpu", 1), row("a.cpu", 1, "conv3"), row("a.cpu", 1, "conv3", Pass::backward_data)};
  const auto all = contests(rows);
  const auto together = networks(all);
  ASSERT_EQ(together.size(), 1u);
  ASSERT_EQ(together[0].contests.size(), 3u);
  EXPECT_EQ(label(*together[0].contests[2]), "conv3 backward_data");
}

TEST(Contest, AStemIsTheIdWithoutItsDevice) {
  EXPECT_EQ(stem("onednn.auto.cpu"), "onednn.auto");
  EXPECT_EQ(stem("cudnn.get.cuda"), "cudnn.get");
  EXPECT_EQ(stem("cudnn.get"), "cudnn.get");
  EXPECT_EQ(stem(".cpu"), ".cpu");
  EXPECT_TRUE(is_named("cudnn.get.cuda", "cudnn.get"));
  EXPECT_TRUE(is_named("cudnn.get.cuda", "cudnn.get.cuda"));
  EXPECT_FALSE(is_named("cudnn.get_v7.cuda", "cudnn.get"));
}

}  // namespace
}  // namespace convscope
