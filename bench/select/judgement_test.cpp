// Regret, ranks, hit rates and stability on hand-made records.
#include "bench/select/judgement.hpp"

#include <gtest/gtest.h>

#include "bench/ranking/test_contests.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

TEST(Judgement, RegretIsTheChoiceOverTheOracleLess1) {
  const Records records{right("ours.cpu", 2), library_record("onednn.auto.cpu", 5, "jit"),
                        library_record("onednn.gemm.cpu", 4, "gemm")};
  const auto all = contests(records);
  const Judgement judgement = judge(all[0], "onednn.auto.cpu");
  ASSERT_NE(judgement.choice, nullptr);
  EXPECT_DOUBLE_EQ(judgement.regret, 1.5);
  EXPECT_DOUBLE_EQ(judgement.regret_in_library, 0.25);
  EXPECT_EQ(judgement.rank, 3);
  EXPECT_FALSE(judgement.is_tie);
}

TEST(Judgement, TheOracleItselfHasNoRegret) {
  const Records records{library_record("onednn.auto.cpu", 1, "jit"), right("ours.cpu", 2)};
  const auto all = contests(records);
  const Judgement judgement = judge(all[0], "onednn.auto.cpu");
  EXPECT_EQ(judgement.regret, 0);
  EXPECT_EQ(judgement.rank, 1);
  EXPECT_TRUE(judgement.is_tie);
}

TEST(Judgement, AThrottledChoiceThatIsTheFastestHasNoRegret) {
  Records records{right("fast.cpu", 1), right("slow.cpu", 3), library_record("onednn.auto.cpu", 2, "jit")};
  records[0].health.throttled = true;
  const auto all = contests(records);
  const Judgement judgement = judge(all[0], "fast.cpu");
  EXPECT_EQ(judgement.regret, 0);
  EXPECT_EQ(judgement.regret_in_library, 0);
  const Score total = score(judgements(networks(all)[0], "fast.cpu"));
  EXPECT_DOUBLE_EQ(total.oracle_seconds, 1);
  EXPECT_DOUBLE_EQ(total.library_seconds, 1);
}

TEST(Judgement, OverlappingIntervalsAreATie) {
  const Records records{right("ours.cpu", 1.0), library_record("onednn.auto.cpu", 1.1, "jit")};
  const auto all = contests(records);
  const Judgement judgement = judge(all[0], "onednn.auto.cpu");
  EXPECT_TRUE(judgement.is_tie);
  EXPECT_EQ(judgement.rank, 2);
  EXPECT_NEAR(judgement.regret, 0.1, 1e-12);
}

TEST(Judgement, TheSameImplementationForcedIsNotARival) {
  const Records records{library_record("onednn.winograd.cpu", 1.0, "wino"),
                        library_record("onednn.auto.cpu", 2, "wino"), right("ours.cpu", 1.5)};
  const auto all = contests(records);
  EXPECT_EQ(judge(all[0], "onednn.auto.cpu").rank, 1);
}

TEST(Judgement, OurOwnAlgorithmsAreRivalsThoughTheySplitTilesAlike) {
  Records records{right("a.cpu", 1), right("b.cpu", 2), library_record("onednn.auto.cpu", 3, "wino")};
  records[0].implementation = records[1].implementation = "5+4+4";
  const auto all = contests(records);
  EXPECT_EQ(judge(all[0], "onednn.auto.cpu").rank, 3);
}

TEST(Judgement, AChoiceWithoutARightRecordSaysWhy) {
  const Records records{right("ours.cpu", 1), wrong_record("wrong.cpu", 1),
                        refused("no.cpu", Outcome::unsupported, Reason::unsupported_stride, "stride 2")};
  const auto all = contests(records);
  EXPECT_EQ(judge(all[0], "wrong.cpu").missing, "accuracy");
  EXPECT_EQ(judge(all[0], "no.cpu").missing, "unsupported_stride");
  EXPECT_EQ(judge(all[0], "absent.cpu").missing, "no record");
}

TEST(Score, IsARatioOfSumsWeightedByCount) {
  Records records{right("ours.cpu", 1), library_record("onednn.auto.cpu", 2, "jit"),
                  right("ours.cpu", 10, "conv3"), library_record("onednn.auto.cpu", 11, "jit")};
  records[3].key.layer = "conv3";
  for (size_t i : {0, 1}) records[i].key.count = 3;
  const auto all = contests(records);
  const Score total = score(judgements(networks(all)[0], "onednn.auto.cpu"));
  EXPECT_EQ(total.judged, 2u);
  EXPECT_DOUBLE_EQ(total.choice_seconds, 17);
  EXPECT_DOUBLE_EQ(total.oracle_seconds, 13);
  EXPECT_DOUBLE_EQ(total.regret(), 17.0 / 13 - 1);
  EXPECT_DOUBLE_EQ(total.regret_in_library(), 0);
  EXPECT_DOUBLE_EQ(total.top1_rate(), 0);
  EXPECT_DOUBLE_EQ(total.top3_rate(), 1);
}

TEST(Score, LeavesAMissingChoiceOutOfBothSumsAndNamesIt) {
  Records records{right("ours.cpu", 1), library_record("onednn.auto.cpu", 2, "jit"),
                  right("ours.cpu", 100, "conv3")};
  const auto all = contests(records);
  const Score total = score(judgements(networks(all)[0], "onednn.auto.cpu"));
  EXPECT_EQ(total.judged, 1u);
  EXPECT_DOUBLE_EQ(total.oracle_seconds, 1);
  ASSERT_EQ(total.missing.size(), 1u);
  EXPECT_EQ(label(*total.missing[0].contest), "conv3 forward");
}

TEST(Score, OfNothingIsEmpty) {
  const Score none = score({});
  EXPECT_EQ(none.judged, 0u);
  EXPECT_TRUE(none.missing.empty());
}

TEST(Score, SaysThatARecordOfItWasThrottled) {
  Records records{right("ours.cpu", 1), library_record("onednn.auto.cpu", 2, "jit")};
  records[1].health.throttled = true;
  const auto all = contests(records);
  EXPECT_TRUE(score(judgements(networks(all)[0], "onednn.auto.cpu")).suspect);
}

TEST(Stability, CountsTheImplementationsOverTheRepeats) {
  const Records records{
      library_record("cudnn.find.cuda", 1, "FFT"), library_record("cudnn.find.cuda", 2, "FFT"),
      library_record("cudnn.find.cuda", 1.5, "GEMM"), library_record("cudnn.find.cuda", 1, "FFT")};
  const auto all = contests(records);
  const Stability s = stability(*all[0].entry("cudnn.find.cuda"));
  EXPECT_EQ(s.repeats, 4u);
  EXPECT_EQ(s.implementations, 2u);
  EXPECT_DOUBLE_EQ(s.agreement, 0.75);
  EXPECT_DOUBLE_EQ(s.spread, 1);
}

TEST(Stability, CountsEachAnswerOfALibraryThatWasAskedSeveralTimes) {
  Records records{library_record("cudnn.find.cuda", 1, "FFT"), library_record("cudnn.find.cuda", 1, "GEMM")};
  records[0].answer.emplace().repeats = {"FFT", "FFT", "GEMM"};
  const auto all = contests(records);
  const Stability s = stability(*all[0].entry("cudnn.find.cuda"));
  EXPECT_EQ(s.repeats, 4u);
  EXPECT_EQ(s.implementations, 2u);
  EXPECT_DOUBLE_EQ(s.agreement, 0.5);
}

TEST(Choosers, AreTheRecordsOfALibrarysOwnChoiceThatAreThere) {
  const Records records{right("ours.cpu", 1), library_record("onednn.auto.cpu", 2, "jit"),
                        refused("cudnn.get.cuda", Outcome::unsupported, Reason::library_missing, "no")};
  const auto all = contests(records);
  EXPECT_EQ(choosers_in(all, default_choosers()),
            (std::vector<std::string>{"onednn.auto.cpu", "cudnn.get.cuda"}));
  const std::vector<std::string> other{"ours"};
  EXPECT_EQ(choosers_in(all, other), std::vector<std::string>{"ours.cpu"});
}

}  // namespace
}  // namespace convscope
