// What the tests of runs share: a small group, a sink that keeps what it is told, a folder that goes away.
// Not here: algorithms (test_algorithms.hpp, bench/cli/faulty).
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/runner/run_group.hpp"

namespace convscope::testing {

// A tiny problem, measured for `time_limit_seconds` at most; without candidates.
inline GroupTask small_task(double time_limit_seconds) {
  GroupTask task;
  task.group.common.network = "net";
  task.group.common.layer = "layer";
  task.group.common.problem = parse_problem("forward n=1 c=2 hw=6x5 k=3 rs=3x3 pad=1x1");
  task.group.common.workspace_cap = 1 << 20;
  task.group.common.cache = CacheState::hot;  // tiny tensors would need very many copies to be cold
  task.protocol.sampling.time_limit_seconds = time_limit_seconds;
  task.protocol.sampling.min_samples = 3;
  task.protocol.sampling.max_samples = 5;
  return task;
}

// Fails the test when a candidate has two records.
class CollectingSink final : public GroupSink {
 public:
  explicit CollectingSink(std::function<void(Stage)> on_begin = [](Stage) {})
      : on_begin_(std::move(on_begin)) {}
  void begin(const std::string& algorithm, Stage stage) override {
    begun.emplace_back(algorithm, stage);
    on_begin_(stage);
  }
  void record(const ResultRecord& record) override {
    order.push_back(record.key.algorithm);
    EXPECT_TRUE(records.emplace(record.key.algorithm, record).second)
        << "two records of " << record.key.algorithm;
  }
  void planned(const std::string& algorithm, const OperationCount& count) override {
    plans.emplace(algorithm, count);
  }
  void verified(const ResultRecord& record) override { passed.push_back(record.key.algorithm); }
  void benchmark(const nlohmann::ordered_json& report) override { benchmarks.push_back(report); }

  std::vector<std::pair<std::string, Stage>> begun;
  std::vector<std::string> order;
  std::map<std::string, OperationCount> plans;
  std::vector<std::string> passed;  // verification, before timing
  std::map<std::string, ResultRecord> records;
  std::vector<nlohmann::ordered_json> benchmarks;

 private:
  std::function<void(Stage)> on_begin_;
};

// A path under the system's temporary folder; nothing is there before and after.
class TemporaryFolder {
 public:
  TemporaryFolder() { std::filesystem::remove_all(path_); }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("convscope_test_" + std::to_string(getpid()));
};

}  // namespace convscope::testing
