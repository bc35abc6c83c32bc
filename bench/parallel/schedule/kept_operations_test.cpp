#include "bench/parallel/schedule/kept_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/core/error.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

DeviceInfo processor() {
  DeviceInfo device;
  device.name = "a processor";
  return device;
}

KeptOperation kept(const std::string& problem, double seconds) {
  KeptOperation row;
  row.problem = problem;
  row.device = "cpu";
  row.device_name = "a processor";
  row.threads = 2;
  row.time = {seconds, 0.9 * seconds, 1.2 * seconds};
  return row;
}

TEST(KeptOperations, AreTheFastestProvidersOfEachProblem) {
  const std::vector<KeptOperation> rows{kept("lrn n=2", 3), kept("lrn n=2", 2), kept("lrn n=4", 9)};
  const OperationTimes times = times_on(processor(), 2, rows);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times.at("lrn n=2"), &rows[1]);
  EXPECT_EQ(times.at("lrn n=4"), &rows[2]);
}

TEST(KeptOperations, AreThoseOfThisDeviceAndNumberOfThreads) {
  std::vector<KeptOperation> rows(4, kept("lrn n=2", 1));
  rows[0].device_name = "another processor";
  rows[1].threads = 1;
  rows[2].device = "cuda";
  rows[3].machine_class = "one";
  EXPECT_EQ(times_on(processor(), 2, rows).at("lrn n=2"), &rows[3]) << "the device's class is not known";
  EXPECT_EQ(times_on(processor(), 1, rows).at("lrn n=2"), &rows[1]);
  DeviceInfo gpu = processor();
  gpu.kind = DeviceKind::cuda;
  EXPECT_EQ(times_on(gpu, 16, rows).at("lrn n=2"), &rows[2]) << "whatever the threads of the host";
  DeviceInfo other_class = processor();
  other_class.machine_class = "another";
  EXPECT_TRUE(times_on(other_class, 2, std::span(rows).subspan(3)).empty());
}

class OperationFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    // Of this process alone: tests run beside each other.
    folder_ = std::filesystem::path(::testing::TempDir()) / ("kept_operations_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::vector<KeptOperation> read(const std::string& text) {
    std::ofstream(folder_ / "operations.json") << text;
    return read_operations(std::vector{folder_.string()});
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  // A row; `members` go before what all have.
  static std::string row(const std::string& members) {
    return "{" + members + R"(, "device_name": "a processor", "machine_class": "", "layer": "conv1",
      "problem": "lrn n=2", "outcome": "measured", "threads": 2, "ci_low_ms": null, "ci_high_ms": 3})";
  }
  static std::string rows(const std::string& members) { return R"({"rows": [)" + row(members) + "]}"; }

  std::filesystem::path folder_;
};

TEST_F(OperationFiles, AreReadWithTheirTimesInSeconds) {
  const auto found = read(rows(R"("median_ms": 2, "samples": 8, "disturbed": 3)"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].problem, "lrn n=2");
  EXPECT_EQ(found[0].device, "cpu");
  EXPECT_DOUBLE_EQ(found[0].time.median, 2e-3);
  EXPECT_TRUE(std::isnan(found[0].time.lowest));
  EXPECT_DOUBLE_EQ(found[0].time.highest, 3e-3);
}

TEST_F(OperationFiles, AreSuspectWhereMoreThanAQuarterOfTheirOwnSamplesWereDisturbed) {
  EXPECT_FALSE(read(rows(R"("median_ms": 2, "samples": 12, "disturbed": 3)"))[0].suspect);
  const std::string one = row(R"("median_ms": 2, "samples": 100, "disturbed": 30)");
  const std::string other = row(R"("median_ms": 2, "samples": 100, "disturbed": 0)");
  const auto of_two_providers = read(R"({"rows": [)" + one + "," + other + "]}");
  EXPECT_TRUE(of_two_providers[0].suspect);
  EXPECT_FALSE(of_two_providers[1].suspect);
}

TEST_F(OperationFiles, LeaveOutWhatWasNotMeasured) {
  std::string text = rows(R"("median_ms": null, "samples": null, "disturbed": null)");
  text.replace(text.find("\"measured\""), 10, "\"wrong\"");
  EXPECT_TRUE(read(text).empty());
}

TEST_F(OperationFiles, AreRefusedWhereTheirThreadsAreNoCount) {
  for (const char* threads : {"2.5", "1e300", "0", "-1", "4294967298", "null"}) {
    std::string text = rows(R"("median_ms": 2, "samples": 8, "disturbed": 0)");
    text.replace(text.find("\"threads\": 2") + 11, 1, threads);
    EXPECT_THAT(refusal(text), HasSubstr("row 1: threads: expected a whole number from 1")) << threads;
  }
}

TEST_F(OperationFiles, AreRefusedByNameAndRow) {
  const std::string file = (folder_ / "operations.json").string();
  EXPECT_THAT(refusal("{"), HasSubstr(file + ": "));
  EXPECT_THAT(refusal("\x1f\x8b\x08 and more"), HasSubstr(file + ": it is compressed by gzip"));
  EXPECT_THAT(refusal("{}"), HasSubstr(file + ": key 'rows' not found"));
  EXPECT_THAT(refusal(rows(R"("median_ms": 2, "samples": 8)")), HasSubstr(file + ": row 1: key 'disturbed'"));
  EXPECT_THAT(refusal(rows(R"("median_ms": "2", "samples": 8, "disturbed": 0)")), HasSubstr(": row 1: "));
  EXPECT_THAT(refusal(rows(R"("median_ms": 0, "samples": 8, "disturbed": 0)")),
              HasSubstr(file + ": row 1: median_ms: a measured row has one above 0"));
  std::filesystem::remove(file);
  EXPECT_THROW(read_operations(std::vector{folder_.string()}), UsageError);
}

}  // namespace
}  // namespace convscope
