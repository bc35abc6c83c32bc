#include <gtest/gtest.h>

#include "bench/runner/run_log.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

Json report_of(const std::string& host, const std::vector<std::pair<std::string, double>>& entries) {
  Json report = {{"context", {{"host_name", host}}}, {"benchmarks", Json::array()}};
  for (const auto& [entry, time] : entries)
    report["benchmarks"].push_back({{"name", entry}, {"real_time", time}});
  return report;
}

std::vector<double> times(const Json& report) {
  std::vector<double> found;
  for (const Json& entry : report.at("benchmarks")) found.push_back(entry.at("real_time"));
  return found;
}

TEST(BenchmarkReports, AreJoinedInOrderUnderTheFirstContext) {
  const Json joined = join_benchmarks(
      {{"a", report_of("here", {{"x", 1}, {"x", 2}})}, {"b", report_of("there", {{"x", 3}})}});
  EXPECT_EQ(joined["context"]["host_name"], "here");
  EXPECT_EQ(times(joined), (std::vector<double>{1, 2, 3}));
}

TEST(BenchmarkReports, OfAGroupMeasuredAgainKeepOnlyTheLastOfEachName) {
  const Json joined =
      join_benchmarks({{"a", report_of("here", {{"x", 1}, {"y", 2}})}, {"a", report_of("here", {{"y", 3}})}});
  EXPECT_EQ(times(joined), (std::vector<double>{1, 3}));
}

TEST(BenchmarkReports, OfNothingAreStillAWholeReport) {
  const Json joined = join_benchmarks({});
  EXPECT_TRUE(joined.at("context").is_object());
  EXPECT_TRUE(joined.at("benchmarks").is_array());
}

}  // namespace
}  // namespace convscope
