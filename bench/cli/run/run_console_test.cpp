#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "bench/cli/run/run.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;

ResultRecord record(const std::string& layer, const std::string& algorithm, double first, double second) {
  ResultRecord record;
  record.key.network = "net";
  record.key.layer = layer;
  record.key.algorithm = algorithm;
  record.time.emplace();
  record.time->full.statistics.median = first;
  record.time->repeat.emplace();
  record.time->repeat->statistics.median = second;
  return record;
}

TEST(NoiseFloor, IsTheDistanceOfTwoSeries) {
  EXPECT_THAT(difference_of_series(record("a", "x", 2.0, 2.1)), Optional(DoubleNear(0.05, 1e-12)));
  EXPECT_THAT(difference_of_series(record("a", "x", 2.0, 1.9)), Optional(DoubleNear(0.05, 1e-12)));
}

TEST(NoiseFloor, IsUnknownWithoutASecondSeries) {
  ResultRecord one = record("a", "x", 1, 1);
  one.time->repeat.reset();
  EXPECT_EQ(difference_of_series(one), std::nullopt);
  EXPECT_EQ(difference_of_series(ResultRecord{}), std::nullopt);
}

TEST(NoiseFloor, NamesTheLargestOfEachLayer) {
  const std::vector<ResultRecord> records = {record("a", "x", 1, 1.01), record("a", "y", 1, 0.98),
                                             record("b", "x", 1, 1.005)};
  std::ostringstream out;
  print_noise_floor(out, records);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("2.00 %  a forward (y)"), HasSubstr("0.50 %  b forward (x)"),
                               HasSubstr("2.00 %  over all")));
}

TEST(NoiseFloor, KeepsTheMembersOfASweepApart) {
  std::vector<ResultRecord> records = {record("a", "x", 1, 1.01), record("a", "x", 1, 1.02),
                                       record("a", "x", 1, 1.03), record("a", "x", 1, 1.04)};
  records[1].key.threads = 2;
  records[2].key.problem.batch = 7;
  records[3].device.name = "another processor";
  std::ostringstream out;
  print_noise_floor(out, records);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("1.00 %  a forward"), HasSubstr("2.00 %  a forward"),
                               HasSubstr("3.00 %  a forward"), HasSubstr("4.00 %  a forward"),
                               HasSubstr("2 threads"), HasSubstr("batch 7"), HasSubstr("another processor")));
}

TEST(NoiseFloor, PrintsNothingWhereNothingWasMeasuredTwice) {
  std::ostringstream out;
  print_noise_floor(out, {});
  EXPECT_EQ(out.str(), "");
}

TEST(Failures, HaveALineEach) {
  ResultRecord failed = record("a", "x", 1, 1);
  failed.outcome = Outcome::failed;
  failed.note = "the library said:\nno";
  std::ostringstream out;
  EXPECT_EQ(print_failures(out, std::span(&failed, 1), false), 1u);
  EXPECT_EQ(out.str(),
            "\n1 of 1 candidates are wrong or failed:\n  net a forward: x failed: the library said: no\n");
}

}  // namespace
}  // namespace convscope
