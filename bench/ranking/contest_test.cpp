// Who may win a contest, and what belongs to one.
#include "bench/ranking/contest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/core/error_of_test.hpp"
#include "bench/ranking/test_contests.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Contest, OfNoRecordsThereIsNone) {
  EXPECT_TRUE(contests({}).empty());
  EXPECT_TRUE(networks({}).empty());
}

TEST(Contest, IsWonByTheFastestRightRecord) {
  const Records records{right("slow.cpu", 3), right("fast.cpu", 1), right("middle.cpu", 2)};
  const auto all = contests(records);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].ranked.size(), 3u);
  EXPECT_EQ(all[0].ranked[0].record, &records[1]);
  EXPECT_EQ(all[0].ranked[2].record, &records[0]);
}

TEST(Contest, EqualTimesAreOrderedByName) {
  const Records records{right("b.cpu", 1), right("a.cpu", 1)};
  EXPECT_EQ(contests(records)[0].ranked[0].record->key.algorithm, "a.cpu");
}

TEST(Contest, AWrongRecordNeverWinsButIsTheBestAtAnyError) {
  const Records records{right("right.cpu", 2), wrong_record("wrong.cpu", 1)};
  const auto all = contests(records);
  ASSERT_EQ(all[0].ranked.size(), 1u);
  EXPECT_EQ(all[0].ranked[0].record, &records[0]);
  ASSERT_EQ(all[0].wrong.size(), 1u);
  EXPECT_EQ(best_at_any_error(all[0]), &records[1]);
}

TEST(Contest, ASlowerWrongRecordIsNotTheBestAtAnyError) {
  const Records records{right("right.cpu", 2), wrong_record("wrong.cpu", 3)};
  EXPECT_EQ(best_at_any_error(contests(records)[0]), &records[0]);
}

TEST(Contest, OfRefusedRecordsOnlyHasNoOracle) {
  const Records records{refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, "no")};
  const auto all = contests(records);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].ranked.empty());
  EXPECT_EQ(all[0].without_time.size(), 1u);
  EXPECT_EQ(best_at_any_error(all[0]), nullptr);
}

TEST(Contest, AWrongRecordWithoutATimeIsNotTheBestAtAnyError) {
  Records records{wrong_record("untimed.cpu", 1), wrong_record("timed.cpu", 5)};
  records[0].time.reset();
  const auto all = contests(records);
  EXPECT_EQ(best_at_any_error(all[0]), &records[1]);
}

TEST(Contest, IsWonByAThrottledRecordThatIsTheFastestAllTheSame) {
  Records records{right("hot.cpu", 1), right("cool.cpu", 2)};
  records[0].health.throttled = true;
  EXPECT_EQ(contests(records)[0].winner(), &records[0]);
}

TEST(Contest, RepeatsAreOneEntryWithTheMiddleTime) {
  const Records records{right("a.cpu", 3), right("a.cpu", 1), right("a.cpu", 2), right("b.cpu", 4),
                        right("b.cpu", 1.5)};
  const auto all = contests(records);
  ASSERT_EQ(all[0].ranked.size(), 2u);
  EXPECT_EQ(all[0].entry("a.cpu")->record, &records[2]);
  EXPECT_EQ(all[0].entry("a.cpu")->repeats.size(), 3u);
  EXPECT_EQ(all[0].entry("b.cpu")->record, &records[4]);  // of two, the faster
}

TEST(Contest, WhoIsWrongInOneRepeatIsWrong) {
  const Records records{right("a.cpu", 1), wrong_record("a.cpu", 1), right("b.cpu", 2)};
  const auto all = contests(records);
  EXPECT_EQ(all[0].entry("a.cpu"), nullptr);
  EXPECT_EQ(all[0].ranked[0].record, &records[2]);
}

TEST(Contest, IsAmongRecordsOfTheSameCircumstancesOnly) {
  Records records{right("a.cpu", 1), right("b.cpu", 2), right("c.cpu", 3), right("d.cpu", 4),
                  right("e.cpu", 5), right("f.cpu", 6), right("g.cpu", 7), right("h.cpu", 8),
                  right("i.cpu", 9), right("j.cpu", 10)};
  records[1].key.threads = 1;
  records[2].key.cache = CacheState::hot;
  records[3].key.workspace_cap.reset();
  records[4].key.problem.math = MathMode::tf32;
  records[5].key.problem.layout = Layout::nhwc;
  records[6].device.name = "Another processor";
  records[7].key.device_index = 1;  // two GPUs of one name
  records[8].key.problem.epilogue = Epilogue::bias_relu;
  records[9].device.machine_class = "amd-f26m2s1-00000000";
  const auto all = contests(records);
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(networks(all).size(), 10u);
  EXPECT_EQ(grouped_over_caps(all).size(), 9u);
}

TEST(OneProtocol, RefusesTimesOfTwoVersionsOfOneMachine) {
  ResultRecord old = right("a.cpu", 1), other = right("b.cpu", 2);
  old.time->protocol = 1;
  other.time->protocol = 2;
  other.key.problem.batch *= 2;
  OneProtocol protocol;
  protocol.add("before", old);
  protocol.add("after", refused("b.cpu", Outcome::crashed, Reason::crashed, ""));
  EXPECT_THAT(testing::error_of([&] { protocol.add("after", other); }),
              AllOf(HasSubstr("after: conv2 forward b.cpu was timed by version 2"),
                    HasSubstr("before has times of this machine by version 1")));
  other.device.machine_class = "amd-f26m2s1-00000000";
  protocol.add("after", other);
  protocol.add("after", other);
}

TEST(Contest, TheSeedIsNoCircumstance) {
  Records records{right("a.cpu", 1), right("b.cpu", 2)};
  records[1].key.seed = 7;
  EXPECT_EQ(contests(records).size(), 1u);
}

TEST(Contest, ANetworkHasItsLayersAndPassesTogether) {
  const Records records{right("a.cpu", 1), right("a.cpu", 1, "conv3"),
                        right("a.cpu", 1, "conv3", Pass::backward_data)};
  const auto all = contests(records);
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
