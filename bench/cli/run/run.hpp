// The verbs `run` and `verify`, which is a run that measures nothing. A run first makes its plan, the groups
// of every config with flags applied, then carries it out by bench/runner/run_suite. While it goes on it
// shows a progress line on standard error and a table after each group on standard output, at the end the
// roll-up, the noise floor and the failures; a dry run shows its plan instead.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cli/verbs.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/overrides.hpp"
#include "bench/runner/run_suite.hpp"

namespace convscope {

struct RunOptions {
  bool measure = true;
  std::vector<std::string> configs;
  std::string problem;              // --case: a problem line instead of configs
  std::vector<std::string> layers;  // --layer: patterns over names; empty: all
  Overrides overrides;
  std::string out;     // empty: out/<date-time>
  std::string resume;  // a folder; then nothing that says what to run is given
  Shard shard;
  bool repeat = false;  // --aa
  bool dry_run = false;
  bool isolate = true;
  bool blocker = true;                   // --blocker: see bench/device/cuda/cuda.hpp
  int knobs = 0;                         // --knobs: see PlanOptions
  std::string record;                    // --record: a file for what libraries answered
  std::optional<double> wait_for_quiet;  // --wait-for-quiet: seconds; null: look once, do not wait
};

void add_flags(CLI::App& verb, RunOptions& options);  // those of `run`
void add_verify_flags(CLI::App& verb, RunOptions& options);
// Of either verb: throws UsageError where nothing to run is named, or something besides what --resume or
// --case name already.
void check_run(const CLI::App& verb, const RunOptions& options);

// The groups of every config, or of the one problem, with overrides and shard applied. Throws UsageError,
// also when two of the configs have a candidate in common.
RunPlan make_plan(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry,
                  const DeviceList& devices);
RunPlan make_plan(const std::vector<Suite>& suites, const RunOptions& options,
                  const std::vector<std::string>& argv, const Registry& registry, const DeviceList& devices);

// Names the programs that load the devices on which the run measures, and waits for them where that many
// seconds are given.
void look_for_other_programs(const RunLog& log, const std::optional<double>& wait_seconds, StopSignal& stop,
                             RunObserver& observer);

class RunConsole final : public RunObserver {
 public:
  // `program` and `log` must outlive it.
  RunConsole(const Program& program, const RunLog& log);

  void group_begins(const GroupTask& task) override;
  void candidate_begins(const std::string& algorithm, Stage stage) override;
  void candidate_ends(const ResultRecord& record) override;
  void group_ends(std::span<const ResultRecord> records) override;
  void warn(const std::string& sentence) override;

  // What is printed once, after the last group. Returns whether nothing failed and something came out right.
  bool finish();

 private:
  void draw();

  const Program& program_;
  const RunLog& log_;
  Progress progress_;
  ProgressState state_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_;
};

// Every group with the candidates that would run and the refusals of the others, those that only planning
// shows on a CPU included, and an estimate of the time (run_estimate.hpp).
void print_dry_run(std::ostream& out, const RunPlan& plan, const Registry& registry);

// What is wrong or failed and why, a line a record, below each the command that runs it alone again where
// that is wanted. Nothing where nothing is. Returns how many records it is.
size_t print_failures(std::ostream& out, std::span<const ResultRecord> records, bool with_commands);

// The noise floor, for which `run --aa` measures two series of each candidate: |median of the second series /
// median of the first - 1|. Smaller differences between candidates mean nothing. Null without a second
// series.
std::optional<double> difference_of_series(const ResultRecord& record);

// For each layer and pass the largest difference among its candidates, under a heading for everything that
// was run under the same circumstances; then the largest of all.
void print_noise_floor(std::ostream& out, std::span<const ResultRecord> records);

}  // namespace convscope
