#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/runner/run_suite.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

ResultRecord row(const std::string& layer, Outcome outcome, Reason reason, const std::string& note,
                 const std::string& algorithm = "a.cuda") {
  ResultRecord record;
  record.key.layer = layer;
  record.key.algorithm = algorithm;
  record.key.device = DeviceKind::cuda;
  record.outcome = outcome;
  record.reason = reason;
  record.note = note;
  return record;
}

const ResultRecord kHang = row("conv1", Outcome::timeout, Reason::timeout, "no end of verify within 30 s");
const ResultRecord kCrash = row("conv2", Outcome::crashed, Reason::crashed, "SIGSEGV during plan");

TEST(Failures, LeaveAnAlgorithmOutOnceTheyAreTwo) {
  const std::vector<ResultRecord> once{kHang}, twice{kHang, kCrash};
  EXPECT_FALSE(why_left_out(once, "a.cuda", DeviceKind::cuda));
  EXPECT_THAT(why_left_out(twice, "a.cuda", DeviceKind::cuda),
              Optional(AllOf(HasSubstr("timeout in conv1 forward"), HasSubstr("no end of verify within 30 s"),
                             HasSubstr("crashed in conv2 forward"), HasSubstr("SIGSEGV during plan"))));
}

TEST(Failures, OfOthersAndOfOtherKindsOfDeviceDoNotCount) {
  ResultRecord emulated = kCrash, other = kCrash;
  emulated.key.device = DeviceKind::emulator;
  other.key.algorithm = "b.cuda";
  const std::vector<ResultRecord> rows{kHang, emulated, other};
  EXPECT_FALSE(why_left_out(rows, "a.cuda", DeviceKind::cuda));
  EXPECT_FALSE(why_left_out(rows, "b.cuda", DeviceKind::cuda));
}

TEST(Failures, OfBothGpusCountTogether) {
  ResultRecord second = kCrash;
  second.key.device_index = 1;
  const std::vector<ResultRecord> rows{kHang, second};
  EXPECT_TRUE(why_left_out(rows, "a.cuda", DeviceKind::cuda));
}

TEST(Failures, AreHangsAndCrashesOnly) {
  EXPECT_TRUE(counts_as_failure(kHang));
  EXPECT_TRUE(counts_as_failure(kCrash));
  EXPECT_FALSE(counts_as_failure(row("conv1", Outcome::crashed, Reason::out_of_memory, "killed by SIGKILL")));
  for (Outcome outcome : {Outcome::wrong, Outcome::failed, Outcome::unsupported, Outcome::over_workspace,
                          Outcome::out_of_memory, Outcome::measured, Outcome::verified_only})
    EXPECT_FALSE(counts_as_failure(row("conv1", outcome, Reason::none, ""))) << name(outcome);
}

TEST(Failures, BeyondTheSecondAreNotToldAgain) {
  ResultRecord third = kCrash;
  third.key.layer = "conv3";
  const std::vector<ResultRecord> rows{kHang, kCrash, third};
  EXPECT_THAT(why_left_out(rows, "a.cuda", DeviceKind::cuda), Optional(Not(HasSubstr("conv3"))));
}

}  // namespace
}  // namespace convscope
