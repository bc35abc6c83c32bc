#include "bench/runner/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "bench/core/error.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/record/record_json.hpp"
#include "bench/runner/run_log.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Origin {
  std::string folder;
  std::string text;  // the whole record
};

// Two with one name may be of different classes, two of one class different units.
using Machine = std::tuple<std::string, std::string, std::string>;

Machine machine_of(const DeviceInfo& device) {
  return {device.name, device.machine_class, device.machine_unit};
}

class Merger {
 public:
  void add(const std::string& folder) {
    ResultFile next = read_results(folder);
    if (next.schema_version == kOldestSchemaVersion)
      throw UsageError(folder + ": its schema_version is " + std::to_string(next.schema_version) +
                       "; merge writes version " + std::to_string(kSchemaVersion) +
                       ", for which the sampling rule is missing there; measure it again");
    for (const ResultRecord& record : next.records) add(folder, record);
    for (const Ceilings& ceilings : next.ceilings)
      if (ceilings_seen_.insert(dump_json(to_json(ceilings))).second)
        merged_.file.ceilings.push_back(ceilings);
    if (std::find(configs_.begin(), configs_.end(), next.config) == configs_.end())
      configs_.push_back(next.config);
    look_for_gaps(folder, next.environment);
    sources_.push_back(
        {{"folder", folder}, {"argv", next.argv}, {"environment", std::move(next.environment)}});
  }

  Merged finish() {
    merged_.file.config = configs_.size() == 1 ? configs_.front() : Json(configs_);
    add_missing_shards();
    rank_records(merged_.file.records);
    merged_.file.environment = {{"complete", !unfinished_}, {"merged_from", sources_}};
    size_t machines = hosts_.size();
    for (const auto& [device, different] : devices_) machines = std::max(machines, different.size());
    if (machines > 1)
      merged_.remarks.push_back(
          fmt::format("the folders come from {} machines; their records stay apart by "
                      "device_name, machine_class and machine_unit",
                      machines));
    if (configs_.size() > 1) merged_.remarks.push_back("the folders were run with different configs");
    return std::move(merged_);
  }

 private:
  void add(const std::string& folder, const ResultRecord& record) {
    protocol_.add(folder, record);
    const Machine machine = machine_of(record.device);
    devices_[record.key.device_id()].insert(machine);
    const std::string key = candidate_key(record.key);
    std::string text = dump_json(to_json(record));
    const auto [known, is_new] = seen_.try_emplace({key, machine}, Origin{folder, text});
    if (is_new)
      merged_.file.records.push_back(record);
    else if (known->second.text != text)
      throw UsageError(folder + ": has a result for \"" + key + "\", and so has " + known->second.folder +
                       ", a different one; merge only folders that share no candidate");
  }

  // A folder that was merged itself is looked at by its own sources, whose shards may be others' missing
  // ones.
  void look_for_gaps(const std::string& folder, const Json& environment) {
    if (!environment.is_object()) return;  // null: the file does not say
    if (environment.contains("merged_from")) {
      for (const Json& source : environment.at("merged_from"))
        look_for_gaps(source.value("folder", folder), source.value("environment", Json::object()));
      return;
    }
    if (!environment.value("complete", true)) {
      unfinished_ = true;
      merged_.remarks.push_back(folder + " is unfinished; --resume goes on with it");
    }
    if (environment.contains("device"))
      hosts_.insert(machine_of(part_from_json<DeviceInfo>(environment.at("device"))));
    if (environment.contains("shard"))
      shards_[environment.at("shard").at("count").get<int64_t>()].insert(
          environment.at("shard").at("index").get<int64_t>());
  }

  void add_missing_shards() {
    for (const auto& [count, present] : shards_)
      for (int64_t index = 1; index <= count; ++index) {
        if (present.contains(index)) continue;
        unfinished_ = true;
        merged_.remarks.push_back(fmt::format("shard {}/{} is missing", index, count));
      }
  }

  Merged merged_;
  bool unfinished_ = false;
  std::map<int64_t, std::set<int64_t>> shards_;             // by their count, those that are here
  std::map<std::pair<std::string, Machine>, Origin> seen_;  // by candidate
  std::set<Machine> hosts_;  // CPUs of the machines, whatever was measured there
  std::map<DeviceId, std::set<Machine>> devices_;
  OneProtocol protocol_;
  std::set<std::string> ceilings_seen_;
  std::vector<Json> configs_;
  Json sources_ = Json::array();
};

}  // namespace

Merged merge_results(const std::vector<std::string>& folders) {
  Merger merger;
  for (const std::string& folder : folders) merger.add(folder);
  return merger.finish();
}

std::string merge_benchmarks(const std::vector<std::string>& folders) {
  std::vector<BenchmarkReport> reports;
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / "benchmark.json";
    std::error_code unknown;
    if (!fs::exists(path, unknown)) continue;
    try {
      Json report = parse_json_text(read_file(path.string()));
      check_report(report);
      reports.push_back({folder, std::move(report)});
    } catch (const UsageError& error) {
      throw UsageError(path.string() + ": " + error.what());
    }
  }
  return dump_json(join_benchmarks(reports), 1) + "\n";
}

}  // namespace convscope
