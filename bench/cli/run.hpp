// The verb `run`, and what `verify` (verify.cpp), a run that measures nothing, shares with it. A run first
// makes its plan, the groups of every config with flags applied, then carries it out by
// bench/runner/run_suite.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/verbs.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/overrides.hpp"
#include "bench/runner/run_log.hpp"

namespace convscope {

struct RunOptions {
  bool measure = true;
  std::vector<std::string> configs;
  std::string problem;  // --case: a problem line instead of configs
  Overrides overrides;
  std::string out;     // empty: out/<date-time>
  std::string resume;  // a folder; then nothing else is given but `isolate`
  Shard shard;
  bool repeat = false;  // --aa
  bool dry_run = false;
  bool isolate = true;
  bool blocker = true;  // --blocker: see bench/device/cuda/cuda.hpp
  int knobs = 0;        // --knobs: see PlanOptions
  std::string record;   // --record: a file for what libraries answered
};

// The flags of `run` and of `verify`, and the two parts that they have in common: CONFIG; and where a run
// goes and how it is carried out.
void add_flags(CLI::App& verb, RunOptions& options);
void add_verify_flags(CLI::App& verb, RunOptions& options);
void add_configs(CLI::App& verb, RunOptions& options);
void add_whereabouts(CLI::App& verb, RunOptions& options);
// Throws UsageError where nothing to run is named, or something besides what --resume or --case name already.
void check_run(const CLI::App& verb, const RunOptions& options);

// Either verb. Returns the exit code (kExitCodes). Throws UsageError.
int run(const RunOptions& options, const Program& program);

inline constexpr const char* kExitCodes =
    "Exit codes: 0 all good; 1 a row is wrong, or a candidate crashed, hung or failed; 2 bad usage or "
    "config;\n"
    "3 a device was lost, the rest of its rows is left to --resume; 130 interrupted.";

// The groups of every config, or of the one problem, with overrides and shard applied. Throws UsageError,
// also when two of the configs have a candidate in common.
RunPlan make_plan(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry,
                  const DeviceList& devices);

}  // namespace convscope
