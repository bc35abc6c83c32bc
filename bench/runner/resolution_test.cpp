#include "bench/runner/resolution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "bench/core/error.hpp"
#include "bench/record/result_files.hpp"
#include "bench/record/test_records.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ResultRecord pair(double ratio, const std::string& algorithm = "direct.cpu") {
  ResultRecord record = measured(algorithm, 0.01);
  record.time->repeat = series(0.01 * ratio);
  return record;
}

// Ten pairs that are 1%, 2%, ... 10% apart, to either side.
std::vector<ResultRecord> ten_pairs() {
  std::vector<ResultRecord> records;
  for (int percent = 1; percent <= 10; ++percent) {
    const double ratio = 1 + percent / 100.0;
    records.push_back(pair(percent % 2 == 0 ? ratio : 1 / ratio, "direct.cpu" + std::to_string(percent)));
  }
  return records;
}

TEST(Resolution, IsWhatNineOfTenPairsLieWithin) {
  const auto found = resolution_of({{ten_pairs()}});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->within_run, 0.09, 1e-9);
  EXPECT_EQ(found->pairs, 10);
}

TEST(Resolution, LeavesOutWhatWasDisturbedThrottledWrongOrMeasuredOnce) {
  std::vector<ResultRecord> records = ten_pairs();
  records[8].health.disturbed = true;  // 9%
  records[9].health.throttled = true;  // 10%
  EXPECT_NEAR(resolution_of({{records}})->within_run, 0.08, 1e-9);
  EXPECT_EQ(resolution_of({{records}})->pairs, 8);
  records[0].outcome = Outcome::wrong;
  EXPECT_EQ(resolution_of({{records}}), std::nullopt) << "seven pairs say nothing about nine of ten";
  records[0].outcome = Outcome::measured;
  records[1].time->repeat.reset();
  EXPECT_EQ(resolution_of({{records}}), std::nullopt);
}

TEST(Resolution, IsUnknownWhereMoreThanAQuarterWasDisturbed) {
  std::vector<ResultRecord> records = ten_pairs();
  for (ResultRecord& record : ten_pairs()) records.push_back(record);
  for (size_t i = 0; i < 5; ++i) records[i].health.disturbed = true;
  EXPECT_TRUE(resolution_of({{records}}));
  records[5].health.disturbed = true;
  EXPECT_EQ(resolution_of({{records}}), std::nullopt) << "14 of 20";
}

TEST(Resolution, BetweenRunsIsRelativeToWhatTheWholeGroupDoes) {
  std::vector<ResultRecord> first, second;
  for (int i = 0; i < 10; ++i) {
    const std::string algorithm = "direct.cpu" + std::to_string(i);
    first.push_back(pair(1, algorithm));
    second.push_back(pair(1, algorithm));
    for (Series* series : {&second[i].time->full, &*second[i].time->repeat})
      series->statistics.median *= i < 2 ? 1.3 : 1.2;  // the machine by 20%, two of ten more
  }
  const auto found = resolution_of({{first, second}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pairs, 20);
  EXPECT_NEAR(found->within_run, 0, 1e-9);
  EXPECT_NEAR(found->between_runs, 1.3 / 1.2 - 1, 1e-9);
}

TEST(Resolution, BetweenRunsIsNeverFinerThanWithinOne) {
  EXPECT_EQ(resolution_of({{ten_pairs()}})->between_runs, resolution_of({{ten_pairs()}})->within_run);
}

TEST(Resolution, WidensTheDefaultWidthAndNeverNarrowsIt) {
  EXPECT_EQ(confidence_width(std::nullopt), 0.005);
  EXPECT_EQ(confidence_width(Resolution{0.001, 20, 0.3}), 0.005);
  EXPECT_EQ(confidence_width(Resolution{0.02, 20, 0.3}), 0.02);
  EXPECT_EQ(confidence_width(Resolution{0.01234, 20, 0.3}), 0.0124);
}

class KeptResolution : public ::testing::Test {
 protected:
  KeptResolution() { ::setenv("CONVSCOPE_CACHE", folder_.path().c_str(), 1); }
  ~KeptResolution() override { ::unsetenv("CONVSCOPE_CACHE"); }

  void keep(const std::string& folder, int64_t protocol = kProtocol) {
    ResultFile file;
    file.records = ten_pairs();
    file.records.back().time->protocol = protocol;
    write_results(folder, file);
  }

  testing::TemporaryFolder folder_;
  DeviceInfo device_ = measured("direct.cpu", 1).device;
};

TEST_F(KeptResolution, IsReadForTheSameMachineDeviceAndThreadsOnly) {
  EXPECT_EQ(known_resolution(device_, 2), std::nullopt);
  keep(resolution_folder(device_, 2) + "/1");
  ASSERT_TRUE(known_resolution(device_, 2));
  EXPECT_NEAR(known_resolution(device_, 2)->within_run, 0.09, 1e-9);
  EXPECT_EQ(known_resolution(device_, 1), std::nullopt);
  device_.machine_unit = "another";
  EXPECT_EQ(known_resolution(device_, 2), std::nullopt);
}

TEST_F(KeptResolution, ThatCannotBeReadCountsAsUnknown) {
  const std::string folder = resolution_folder(device_, 2) + "/1";
  keep(folder);
  std::ofstream(folder + "/results.json") << "{";
  EXPECT_EQ(known_resolution(device_, 2), std::nullopt);
  ::setenv("CONVSCOPE_CACHE", std::string(300, 'x').c_str(), 1);  // too long a name
  EXPECT_EQ(known_resolution(device_, 2), std::nullopt);
}

TEST_F(KeptResolution, OfAnotherProtocolCountsAsUnknown) {
  keep(resolution_folder(device_, 2) + "/1");
  keep(resolution_folder(device_, 2) + "/2", kProtocol - 1);
  EXPECT_EQ(known_resolution(device_, 2), std::nullopt);
}

TEST_F(KeptResolution, LiesWhereTheUserKeepsCaches) {
  EXPECT_THAT(resolution_folder(device_, 2),
              Eq(folder_.path().string() + "/resolution/amd-f25m17s1-1234abcd-0123456789ab/cpu-2-threads"));
  ::unsetenv("CONVSCOPE_CACHE");
  const char* home = std::getenv("HOME");
  const std::string old_home = home == nullptr ? "" : home;
  ::unsetenv("HOME");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_THAT(resolution_folder(device_, 2), ::testing::StartsWith("/x/convscope/resolution/"));
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_THAT([&] { resolution_folder(device_, 2); }, ThrowsMessage<UsageError>(HasSubstr("HOME")));
  EXPECT_EQ(known_resolution(device_, 2), std::nullopt);
  ::setenv("HOME", old_home.c_str(), 1);
}

}  // namespace
}  // namespace convscope
