#include "bench/record/result.hpp"

#include <gtest/gtest.h>

#include <set>

namespace convscope {
namespace {

TEST(Outcome, FollowsFromTheReason) {
  std::set<Outcome> reached;
  for (Reason reason : kReasons)
    for (bool is_timed : {false, true}) reached.insert(outcome_of(reason, is_timed));
  EXPECT_EQ(reached.size(), kOutcomes.size()) << "every outcome has a reason";
  EXPECT_EQ(outcome_of(Reason::none, true), Outcome::measured);
  EXPECT_EQ(outcome_of(Reason::none, false), Outcome::verified_only);
  EXPECT_EQ(outcome_of(Reason::throttled, true), Outcome::measured);
  EXPECT_EQ(outcome_of(Reason::accuracy, true), Outcome::wrong);
}

TEST(Outcome, OfEveryReasonNamedUnsupportedIsARefusal) {
  for (Reason reason : kReasons) {
    if (!name(reason).starts_with("unsupported")) continue;
    EXPECT_EQ(outcome_of(reason, false), Outcome::unsupported) << name(reason);
  }
}

TEST(Outcome, IsSettledWithItsReasonAndNote) {
  ResultRecord record;
  settle(record, Reason::none, "");
  EXPECT_EQ(record.outcome, Outcome::verified_only);
  record.time.emplace();
  settle(record, Reason::throttled, "hot");
  EXPECT_EQ(record.outcome, Outcome::measured);
  EXPECT_EQ(record.reason, Reason::throttled);
  EXPECT_EQ(record.note, "hot");
}

TEST(ShellWord, IsQuotedOnlyWhereAShellWouldReadItOtherwise) {
  for (const char* plain : {"alexnet", "/a-b/c_d.json", "5GB/s,5us", "best", "a=b:c@d%e+f", "fünf"})
    EXPECT_EQ(shell_word(plain), plain);
  EXPECT_EQ(shell_word("my nets/a.json"), "'my nets/a.json'");
  EXPECT_EQ(shell_word("Anna's.json"), "'Anna'\\''s.json'");
  for (const char* other : {"*.cpu", "~/a", "a#b", "a\nb", "!a", "{a,b}", "$HOME"})
    EXPECT_EQ(shell_word(other), "'" + std::string(other) + "'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace convscope
