// What rank_records() writes into records: rank, doubt, standing, baseline, front.
#include "bench/ranking/ranking.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "bench/ranking/test_contests.hpp"

namespace convscope {
namespace {

const Ranking& of(const Records& records, size_t i) {
  return *records.at(i).ranking;
}

TEST(Ranking, OfNoRecordsIsNone) {
  Records none;
  rank_records(none);
  EXPECT_TRUE(none.empty());
}

TEST(Ranking, NumbersTheRecordsThatCanWinFromTheFastest) {
  Records records{right("slow.cpu", 3), right("fast.cpu", 1), wrong_record("wrong.cpu", 0.5),
                  right("b.cpu", 2)};
  rank_records(records);
  EXPECT_EQ(of(records, 1).rank, 1);
  EXPECT_EQ(of(records, 3).rank, 2);
  EXPECT_EQ(of(records, 0).rank, 3);
  EXPECT_EQ(of(records, 2).rank, std::nullopt);
  EXPECT_EQ(of(records, 2).standing, Standing::wrong);
  EXPECT_DOUBLE_EQ(*of(records, 0).over_winner, 3);
  EXPECT_EQ(of(records, 2).over_winner, std::nullopt);
}

TEST(Ranking, SaysWhyARecordCannotWin) {
  Records records{refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, ""),
                  refused("b.cpu", Outcome::over_workspace, Reason::workspace_over_cap, ""),
                  refused("c.cpu", Outcome::out_of_memory, Reason::out_of_memory, ""),
                  refused("d.cpu", Outcome::timeout, Reason::timeout, ""),
                  refused("e.cpu", Outcome::verified_only, Reason::none, ""),
                  right("f.cpu", 1),
                  right("g.cpu", -1)};
  records[5].time->full.statistics.n = 0;
  rank_records(records);
  const std::vector<Standing> expected{Standing::refused, Standing::refused, Standing::failed,
                                       Standing::failed,  Standing::untimed, Standing::untimed,
                                       Standing::untimed};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(of(records, i).standing, expected[i]) << records[i].key.algorithm;
    EXPECT_EQ(of(records, i).rank, std::nullopt);
    EXPECT_EQ(of(records, i).in_doubt, std::nullopt);
  }
}

TEST(Ranking, DoubtsWhoseIntervalOverlapsTheWinners) {
  // 10% to either side: [0.9, 1.1], [1.035, 1.265], [1.125, 1.375].
  Records records{right("a.cpu", 1), right("b.cpu", 1.15), right("c.cpu", 1.25)};
  rank_records(records);
  EXPECT_EQ(of(records, 0).in_doubt, false);
  EXPECT_EQ(of(records, 1).in_doubt, true);
  EXPECT_EQ(of(records, 2).in_doubt, false);
}

TEST(Ranking, OfTooFewSamplesIsInDoubt) {
  for (const size_t without_interval : {0, 1}) {
    Records records{right("a.cpu", 1), right("b.cpu", 10)};
    records[without_interval].time->full.statistics.ci_low = std::numeric_limits<double>::quiet_NaN();
    rank_records(records);
    EXPECT_EQ(of(records, 0).in_doubt, false) << "the winner's own order is in none";
    EXPECT_EQ(of(records, 1).rank, 2);
    EXPECT_EQ(of(records, 1).in_doubt, true);
  }
}

TEST(Ranking, LetsASuspectRecordWinThatIsTheFastestAllTheSame) {
  Records records{right("hot.cpu", 1), right("cool.cpu", 1.5)};
  records[0].health.throttled = true;
  rank_records(records);
  EXPECT_EQ(of(records, 0).rank, 1);
  EXPECT_EQ(of(records, 0).standing, Standing::throttled);
  EXPECT_EQ(of(records, 1).in_doubt, false) << "undisturbed, the winner would be farther ahead still";
}

TEST(Ranking, DoubtsASuspectRecordWhoseLostShareMayExplainItsPlace) {
  // Intervals are 10% to either side: undisturbed, 0.7 * 1.35 is below 1.1, and 0.7 * 8.1 is not.
  Records records{right("calm.cpu", 1), right("near.cpu", 1.5), right("far.cpu", 9)};
  for (size_t i : {1, 2}) {
    records[i].health.disturbed = true;
    records[i].health.lost_share = 0.3;
  }
  rank_records(records);
  EXPECT_EQ(of(records, 1).in_doubt, true);
  EXPECT_EQ(of(records, 2).in_doubt, false);
}

TEST(Ranking, DoubtsAThrottledRecordBesideTheShareOfTheCoresThatItHad) {
  Records records{right("calm.cpu", 1), right("near.cpu", 2), right("far.cpu", 9)};
  for (size_t i : {1, 2}) {
    records[i].health.throttled = true;
    records[i].health.core_share = 0.5;
  }
  rank_records(records);
  EXPECT_EQ(of(records, 1).in_doubt, true);
  EXPECT_EQ(of(records, 2).in_doubt, false);
}

TEST(Ranking, DoubtsASuspectRecordOfWhichNoReadingSaysWhatSlowedItUpToFourTimes) {
  for (const char* cause : {"a driver holds the clock down", "threads far apart", "disturbed by whom?"}) {
    Records records{right("calm.cpu", 1), right("near.cpu", 4), right("far.cpu", 8)};
    for (size_t i : {1, 2}) {
      (cause[0] == 'd' ? records[i].health.disturbed : records[i].health.throttled) = true;
      if (cause[0] == 't') records[i].health.core_share = 0.97;
    }
    rank_records(records);
    EXPECT_EQ(of(records, 1).in_doubt, true) << cause;
    EXPECT_EQ(of(records, 2).in_doubt, false) << cause;
  }
}

TEST(Ranking, CountsOneCauseOnceWhereARecordIsBothThrottledAndDisturbed) {
  Records records{right("calm.cpu", 1), right("hurt.cpu", 2.8)};
  records[1].health.throttled = records[1].health.disturbed = true;
  records[1].health.core_share = records[1].health.lost_share = 0.5;
  rank_records(records);
  EXPECT_EQ(of(records, 1).in_doubt, false) << "half of 2.52 is above 1.1, a quarter of it is not";
}

TEST(Ranking, TheShareThatAGoodRecordLostIsNoDoubt) {
  Records records{right("a.cpu", 1), right("b.cpu", 1.5)};
  records[1].health.core_share = 0.6;
  rank_records(records);
  EXPECT_EQ(of(records, 1).in_doubt, false);
}

TEST(Ranking, TakesTheMiddleOfTheRepeatsThatAreNotThrottled) {
  Records records{right("a.cpu", 3), right("a.cpu", 1), right("a.cpu", 4), right("a.cpu", 5)};
  records[1].health.throttled = records[3].health.throttled = true;
  rank_records(records);
  EXPECT_EQ(of(records, 0).rank, 1);
  for (size_t i : {1, 2, 3}) EXPECT_EQ(of(records, i).standing, Standing::repeat);
}

TEST(Ranking, RefusesACandidateThatIsWrongInAnotherRecord) {
  Records records{right("a.cpu", 1), wrong_record("a.cpu", 1), right("b.cpu", 2)};
  rank_records(records);
  EXPECT_EQ(of(records, 0).standing, Standing::wrong_repeat);
  EXPECT_EQ(of(records, 1).standing, Standing::wrong);
  EXPECT_EQ(of(records, 2).rank, 1);
}

TEST(Ranking, ARefusedRepeatLeavesItsCandidateARank) {
  Records records{right("a.cpu", 1), refused("a.cpu", Outcome::crashed, Reason::crashed, "")};
  rank_records(records);
  EXPECT_EQ(of(records, 0).rank, 1);
  EXPECT_EQ(of(records, 1).standing, Standing::failed);
}

TEST(Ranking, ComparesWithTheBestRightRecordOfALibrary) {
  Records records{wrong_record("onednn.gemm.cpu", 1), library_record("onednn.auto.cpu", 4, "jit"),
                  library_record("onednn.direct.cpu", 6, "jit"), right("a.cpu", 2)};
  rank_records(records);
  EXPECT_TRUE(of(records, 1).is_baseline);
  EXPECT_FALSE(of(records, 2).is_baseline);
  EXPECT_DOUBLE_EQ(*of(records, 3).speed_up, 2);
  EXPECT_DOUBLE_EQ(*of(records, 2).speed_up, 4.0 / 6);
}

TEST(Ranking, WithoutALibraryThereIsNoSpeedUp) {
  Records records{right("a.cpu", 1)};
  records[0].algorithm.provider = "openblas";  // the GEMM is a library's, the convolution ours
  rank_records(records);
  EXPECT_FALSE(of(records, 0).is_baseline);
  EXPECT_EQ(of(records, 0).speed_up, std::nullopt);
}

TEST(Ranking, KeepsMachinesApart) {
  Records records{right("a.cpu", 1), right("a.cpu", 2), right("a.cpu", 3)};
  records[1].device.name = "another processor";
  records[2].device.name = "simulated (virtual time)";
  rank_records(records);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(of(records, i).contest, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(of(records, i).rank, 1);
  }
  EXPECT_EQ(of(records, 2).standing, Standing::virtual_time);
}

TEST(Ranking, TheFrontHasWhatNothingBeatsUnderAnyCap) {
  Records records{with_cap(right("small.cpu", 3), 0, 0), with_cap(right("large.cpu", 1), {}, 9 * kMiB),
                  with_cap(right("beaten.cpu", 4), {}, 9 * kMiB)};
  rank_records(records);
  EXPECT_TRUE(of(records, 0).on_front);
  EXPECT_TRUE(of(records, 1).on_front);
  EXPECT_FALSE(of(records, 2).on_front);
  records[1].health.throttled = true;
  rank_records(records);
  EXPECT_TRUE(of(records, 1).on_front) << "as the winner is";
}

}  // namespace
}  // namespace convscope
