#include "bench/parallel/schedule/kept_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "bench/core/error.hpp"

namespace convscope {
namespace {

using testing::HasSubstr;

const DeviceInfo& processor() {
  static const DeviceInfo device = [] {
    DeviceInfo one;
    one.name = "a processor";
    return one;
  }();
  return device;
}

KeptOperation kept(const std::string& operation, const std::string& direction, double seconds,
                   const std::string& layer = "conv1") {
  KeptOperation row;
  row.network = "net";
  row.layer = layer;
  row.operation = operation;
  row.direction = direction;
  row.batch = 2;
  row.device = "cpu";
  row.device_name = "a processor";
  row.threads = 2;
  row.time = {seconds, 0.9 * seconds, 1.2 * seconds};
  return row;
}

OperationTimes of_conv1(const std::vector<KeptOperation>& rows) {
  const OperationTimesOfLayers all = operations_of(rows, "net", processor(), 2);
  return all.at({2, "conv1"});
}

TEST(KeptOperations, AreAddedUpByDirectionAndTheUpdateByItself) {
  const OperationTimes found =
      of_conv1({kept("lrn", "forward", 1), kept("pool", "forward", 2), kept("add", "", 4),
                kept("lrn", "backward", 8), kept("update", "", 16), kept("1bit", "", 32)});
  EXPECT_DOUBLE_EQ(found.forward.median, 1 + 2 + 4);
  EXPECT_DOUBLE_EQ(found.forward.lowest, 0.9 * 7);
  EXPECT_DOUBLE_EQ(found.forward.highest, 1.2 * 7);
  EXPECT_DOUBLE_EQ(found.backward.median, 8);
  EXPECT_DOUBLE_EQ(found.update.median, 16);
  EXPECT_FALSE(found.suspect);
}

TEST(KeptOperations, TakeTheFastestProvidersOfEach) {
  KeptOperation disturbed = kept("lrn", "forward", 5);
  disturbed.suspect = true;
  EXPECT_DOUBLE_EQ(of_conv1({kept("lrn", "forward", 3), kept("lrn", "forward", 2), disturbed}).forward.median,
                   2);
  disturbed.time.median = 1;
  EXPECT_TRUE(of_conv1({kept("lrn", "forward", 3), disturbed}).suspect);
}

TEST(KeptOperations, AreOnePassWithTheirReluWhereThatHasARow) {
  EXPECT_DOUBLE_EQ(of_conv1({kept("bias", "forward", 1), kept("relu", "forward", 2),
                             kept("bias+relu", "forward", 4), kept("bias", "backward", 8)})
                       .forward.median,
                   4);
  EXPECT_DOUBLE_EQ(of_conv1({kept("bias", "forward", 1), kept("relu", "forward", 2)}).forward.median, 3);
  EXPECT_DOUBLE_EQ(of_conv1({kept("bias", "forward", 1), kept("bias", "backward", 8),
                             kept("relu", "backward", 16), kept("bias+relu", "backward", 32)})
                       .backward.median,
                   32);
}

TEST(KeptOperations, AreThoseOfThisNetworkDeviceAndNumberOfThreads) {
  std::vector<KeptOperation> rows(6, kept("lrn", "forward", 1));
  rows[0].network = "another";
  rows[1].device_name = "another processor";
  rows[2].threads = 1;
  rows[3].device = "cuda";
  rows[4].batch = 4;
  const OperationTimesOfLayers all = operations_of(rows, "net", processor(), 2);
  EXPECT_EQ(all.size(), 2u) << "batches 2 and 4";
  DeviceInfo gpu = processor();
  gpu.kind = DeviceKind::cuda;
  EXPECT_EQ(operations_of(rows, "net", gpu, 16).size(), 1u) << "whatever the threads of the host";
  DeviceInfo of_class = processor();
  of_class.machine_class = "one";
  rows[5].machine_class = "another";
  rows[4].machine_class = "one";
  EXPECT_FALSE(operations_of(rows, "net", of_class, 2).contains({2, "conv1"}));
  EXPECT_TRUE(operations_of(rows, "net", of_class, 2).contains({4, "conv1"}));
}

class OperationFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "kept_operations_test";
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
  static std::string rows(const std::string& members) {
    return R"({"rows": [{"network": "net", "batch": 2, "device_name": "a processor", "machine_class": "",
      "layer": "conv1", "operation": "lrn", "direction": "forward", "outcome": "measured", "threads": 2,
      "ci_low_ms": null, "ci_high_ms": 3, )" +
           members + "}]}";
  }

  std::filesystem::path folder_;
};

TEST_F(OperationFiles, AreReadWithTheirTimesInSeconds) {
  const auto found = read(rows(R"("median_ms": 2, "samples": 8, "disturbed": 3)"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].layer + found[0].operation + found[0].direction, "conv1lrnforward");
  EXPECT_DOUBLE_EQ(found[0].time.median, 2e-3);
  EXPECT_TRUE(std::isnan(found[0].time.lowest));
  EXPECT_DOUBLE_EQ(found[0].time.highest, 3e-3);
  EXPECT_TRUE(found[0].suspect) << "more than a quarter";
  EXPECT_FALSE(read(rows(R"("median_ms": 2, "samples": 12, "disturbed": 3)"))[0].suspect);
}

TEST_F(OperationFiles, AreRefusedByNameAndRow) {
  const std::string file = (folder_ / "operations.json").string();
  EXPECT_THAT(refusal("{"), HasSubstr(file + ": "));
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
