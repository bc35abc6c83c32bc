#include "bench/runner/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/core/error.hpp"
#include "bench/record/test_records.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

class Merge : public ::testing::Test {
 protected:
  static ResultRecord record(const std::string& algorithm, const std::string& device,
                             const std::string& note = "") {
    ResultRecord record;
    record.key = testing::small_task(1).group.common;
    record.key.algorithm = algorithm;
    record.algorithm.id = algorithm;
    record.device.name = device;
    record.note = note;
    return record;
  }

  std::string folder(const std::string& name, const std::vector<ResultRecord>& records,
                     const std::string& config = "net") {
    ResultFile file;
    file.argv = {"convscope", "run", name};
    file.config = {{"name", config}};
    file.environment = {{"host", name}};
    file.records = records;
    const std::string path = (top_ / name).string();
    write_results(path, file);
    return path;
  }

  testing::TemporaryFolder temporary_;
  fs::path top_ = temporary_.path();
};

TEST_F(Merge, JoinsRowsAndKeepsWhereTheyCameFrom) {
  const Merged merged =
      merge_results({folder("p1", {record("a", "cpu1")}), folder("p2", {record("b", "cpu1")})});
  ASSERT_THAT(merged.file.records, SizeIs(2));
  EXPECT_EQ(merged.file.records[0].key.algorithm, "a");
  EXPECT_EQ(merged.file.config.at("name"), "net");
  const auto& sources = merged.file.environment.at("merged_from");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources.at(1).at("environment").at("host"), "p2");
  EXPECT_THAT(merged.remarks, IsEmpty());
}

TEST_F(Merge, TakesARowThatIsTheSameInTwoFoldersOnce) {
  const Merged merged =
      merge_results({folder("p1", {record("a", "cpu1")}), folder("p2", {record("a", "cpu1")})});
  EXPECT_THAT(merged.file.records, SizeIs(1));
}

TEST_F(Merge, RefusesTwoDifferentRowsOfOneCandidateAndNamesBoth) {
  const std::string p1 = folder("p1", {record("a", "cpu1", "one")}),
                    p2 = folder("p2", {record("a", "cpu1", "two")});
  EXPECT_THAT(
      [&] {
        merge_results({p1, p2});
      },
      ThrowsMessage<UsageError>(AllOf(HasSubstr(p1), HasSubstr(p2), HasSubstr("layer"), HasSubstr(" a "))));
}

TEST_F(Merge, RefusesTimesOfTwoVersionsOfTheProtocol) {
  ResultRecord old = measured("a.cpu", 1), other = measured("b.cpu", 1);
  old.time->protocol = 1;
  other.time->protocol = 2;
  const std::string p1 = folder("p1", {old}), p2 = folder("p2", {other});
  EXPECT_THAT(
      [&] {
        merge_results({p1, p2});
      },
      ThrowsMessage<UsageError>(AllOf(HasSubstr(p1), HasSubstr(p2), HasSubstr("b.cpu"),
                                      HasSubstr("version 2 of the measuring protocol"))));
}

TEST_F(Merge, KeepsDevicesApartAndSaysSo) {
  const Merged merged =
      merge_results({folder("p1", {record("a", "cpu1", "one")}), folder("p2", {record("a", "cpu2", "two")})});
  EXPECT_THAT(merged.file.records, SizeIs(2));
  EXPECT_THAT(merged.remarks, Contains(HasSubstr("device_name")));
}

TEST_F(Merge, KeepsMachinesOfOneNameApart) {
  ResultRecord zen4 = record("a", "AMD EPYC", "one"), zen5 = record("a", "AMD EPYC", "two");
  zen4.device.machine_class = "amd-f25m17s1-00000000";
  zen5.device.machine_class = "amd-f26m2s1-00000000";
  ResultRecord other_unit = zen5;
  other_unit.note = "three";
  other_unit.device.machine_unit = "0123456789ab";
  const Merged merged =
      merge_results({folder("p1", {zen4}), folder("p2", {zen5}), folder("p3", {other_unit})});
  ASSERT_THAT(merged.file.records, SizeIs(3));
  EXPECT_THAT(merged.remarks, Contains(HasSubstr("from 3 machines")));
  const auto contest_of = [&](size_t record) { return merged.file.records[record].ranking->contest; };
  EXPECT_NE(contest_of(0), contest_of(1)) << "classes are not ranked together";
  EXPECT_EQ(contest_of(1), contest_of(2)) << "units of one class repeat each other";
}

TEST_F(Merge, TakesTheDevicesOfOneMachineForOneMachine) {
  ResultRecord gpu = record("b", "gpu");
  gpu.key.device = gpu.device.kind = DeviceKind::cuda;
  ResultRecord second = gpu;
  second.key.device_index = second.device.index = 1;
  second.device.machine_unit = "0123456789ab";
  const Merged merged = merge_results({folder("p1", {record("a", "cpu1")}), folder("p2", {gpu, second})});
  EXPECT_THAT(merged.file.records, SizeIs(3));
  EXPECT_THAT(merged.remarks, IsEmpty());
}

TEST_F(Merge, TellsMachinesApartThatHaveNoMeasuredDeviceInCommon) {
  const auto of_host = [&](const std::string& name, ResultRecord measured, const std::string& unit) {
    DeviceInfo host = record("a", "cpu1").device;
    host.machine_unit = unit;
    ResultFile file;
    file.environment = {{"complete", true}, {"device", to_json(host)}};
    file.records = {std::move(measured)};
    write_results((top_ / name).string(), file);
    return (top_ / name).string();
  };
  ResultRecord gpu = record("b", "gpu");
  gpu.key.device = gpu.device.kind = DeviceKind::cuda;
  const std::string first = of_host("p1", record("a", "cpu1"), "one"), second = of_host("p2", gpu, "other");
  EXPECT_THAT(merge_results({first, second}).remarks, ElementsAre(HasSubstr("from 2 machines")));
  EXPECT_THAT(merge_results({first, of_host("p3", gpu, "one")}).remarks, IsEmpty());
}

TEST_F(Merge, SaysWhenConfigsDiffer) {
  const Merged merged =
      merge_results({folder("p1", {record("a", "cpu1")}), folder("p2", {record("b", "cpu1")}, "other")});
  EXPECT_THAT(merged.remarks, Contains(HasSubstr("different configs")));
  EXPECT_EQ(merged.file.config.size(), 2u);
}

TEST_F(Merge, SaysWhichPartsAreUnfinishedOrMissing) {
  const auto part = [&](const std::string& name, int index, bool complete) {
    ResultFile file;
    file.environment = {{"complete", complete}, {"shard", {{"index", index}, {"count", 3}}}};
    file.records = {record(name, "cpu1")};
    write_results((top_ / name).string(), file);
    return (top_ / name).string();
  };
  const std::string first = part("p1", 1, true), second = part("p2", 2, false), third = part("p3", 3, true);
  EXPECT_THAT(merge_results({first, second}).remarks,
              UnorderedElementsAre(AllOf(HasSubstr(second), HasSubstr("unfinished")),
                                   HasSubstr("shard 3/3 is missing")));
  Merged merged = merge_results({first, third});
  EXPECT_THAT(merged.remarks, ElementsAre(HasSubstr("shard 2/3 is missing")));
  EXPECT_EQ(merged.file.environment.at("complete"), false);

  const std::string two_thirds = (top_ / "two_thirds").string();
  write_results(two_thirds, merged.file);
  merged = merge_results({two_thirds, part("p2_finished", 2, true)});
  EXPECT_THAT(merged.remarks, IsEmpty());
  EXPECT_EQ(merged.file.environment.at("complete"), true);
}

TEST_F(Merge, RefusesRecordsWithoutASamplingRule) {
  const std::string old = folder("old", {record("a", "cpu1")});
  std::ifstream in(old + "/results.json");
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(in);
  json["schema_version"] = 1;
  std::ofstream(old + "/results.json") << json;
  EXPECT_THAT([&] { merge_results({old}); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("old"), HasSubstr("schema_version is 1"))));
}

TEST_F(Merge, TakesAFileWithoutAnEnvironment) {
  ResultFile file;
  file.records = {record("a", "cpu1")};
  write_results((top_ / "bare").string(), file);
  EXPECT_THAT(merge_results({(top_ / "bare").string()}).remarks, IsEmpty());
}

TEST_F(Merge, NamesAFolderWithoutResults) {
  EXPECT_THAT([&] { merge_results({(top_ / "nowhere").string()}); },
              ThrowsMessage<UsageError>(HasSubstr("nowhere")));
}

TEST_F(Merge, JoinsBenchmarkReportsAndRefusesAForeignOne) {
  const std::string p1 = folder("p1", {}), p2 = folder("p2", {});
  std::ofstream(fs::path(p1) / "benchmark.json") << R"({"context": {}, "benchmarks": [{"name": "x"}]})";
  EXPECT_THAT(merge_benchmarks({p1, p2}), HasSubstr("\"x\""));
  std::ofstream(fs::path(p2) / "benchmark.json") << "[]";
  EXPECT_THAT([&] { merge_benchmarks({p1, p2}); }, ThrowsMessage<UsageError>(HasSubstr("p2")));
  std::ofstream(fs::path(p2) / "benchmark.json") << R"({"context": {}, "benchmarks": ["x"]})";
  EXPECT_THAT(
      [&] {
        merge_benchmarks({p1, p2});
      },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("p2"), HasSubstr("no object with a name"))));
}

}  // namespace
}  // namespace convscope
