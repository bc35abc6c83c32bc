// The journal of a run, read and written as what it means: what was to be done, and what is done already. It
// is what makes --resume possible; the lines themselves are bench/record/result_files.
//
// Entries: "run" first (schema, argv, config, environment, tasks), then "ceilings", "record" and "benchmark"
// as they become known, and "resumed" (environment) wherever an interrupted run goes on.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/record/result.hpp"
#include "bench/record/result_files.hpp"
#include "bench/runner/cases.hpp"

namespace convscope {

// All that a run does. It can be carried out without the config and the command line that it came from.
struct RunPlan {
  std::vector<std::string> argv;
  nlohmann::ordered_json config = nlohmann::ordered_json::array();
  nlohmann::ordered_json environment = nlohmann::ordered_json::object();
  std::vector<GroupTask> tasks;
};

// Google Benchmark's report of one group. Its times are not our statistics. `group` tells groups apart; a
// group that was measured twice (again after a crash, or by a resumed run) has two.
struct BenchmarkReport {
  std::string group;
  nlohmann::ordered_json report;
};

// The one benchmark.json of a run, in the same form, so that Google Benchmark's compare.py reads it: the
// context of the first and the benchmarks of all; where a group has a benchmark of the same name in several
// reports, only the last report's entries stay.
nlohmann::ordered_json join_benchmarks(const std::vector<BenchmarkReport>& reports);

// Throws UsageError for what is no such report.
void check_report(const nlohmann::ordered_json& report);

class RunLog {
 public:
  // A new run: makes the folder and writes the plan. Throws UsageError when a run is in there already or the
  // folder cannot be written.
  RunLog(const std::string& folder, RunPlan plan);
  // What a journal's entries say; nothing can be added to it. Throws UsageError with the line that is wrong.
  RunLog(const std::string& folder, const std::vector<nlohmann::ordered_json>& entries);
  // An interrupted run, as its journal has it. Throws UsageError when there is none or it is not whole.
  static RunLog open(const std::string& folder);

  // Each is on disk when the call returns. Of several ceilings of one device and thread count the best count.
  void add(const Ceilings& ceilings);
  void add(const ResultRecord& record);
  void add(const BenchmarkReport& report);
  // The circumstances under which the run goes on from here.
  void add_resumption(const nlohmann::ordered_json& environment);

  // What of the plan is left to do: tasks with the candidates that have no record yet.
  std::vector<GroupTask> tasks_left() const;
  // The records of one group, in the order of its candidates.
  std::vector<ResultRecord> records_of(const Group& group) const;

  // All that is known, ranked; the environment with "ended", "complete" and, where there are any, "resumed"
  // in it.
  ResultFile results() const;
  // results.json, results.csv and benchmark.json of it. Throws std::runtime_error that names the file that
  // could not be written.
  void write_files() const;

  const RunPlan& plan() const { return plan_; }
  const std::string& folder() const { return folder_; }
  const std::vector<Ceilings>& ceilings() const { return ceilings_; }
  const std::vector<ResultRecord>& records() const { return records_; }

 private:
  void take(const nlohmann::ordered_json& entry);
  void take(const ResultRecord& record);
  void take(const Ceilings& ceilings);

  std::string folder_;
  RunPlan plan_;
  std::vector<Ceilings> ceilings_;
  std::vector<ResultRecord> records_;
  std::vector<BenchmarkReport> benchmarks_;
  nlohmann::ordered_json resumptions_ = nlohmann::ordered_json::array();
  std::map<std::string, size_t> place_of_;  // in records_, by candidate key
  Journal journal_;
};

}  // namespace convscope
