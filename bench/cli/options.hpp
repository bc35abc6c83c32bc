// The command line as plain values: one struct a verb, and parse_command(), which makes the one that was
// asked for. Nothing is run here and no file is read. The verbs' flags and help texts are in verbs.cpp; what
// a flag that overrides a config may hold is bench/runner/overrides.
#pragma once

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

#include "bench/cli/choose.hpp"
#include "bench/cli/exec.hpp"
#include "bench/cli/explain.hpp"
#include "bench/cli/info.hpp"
#include "bench/cli/list.hpp"
#include "bench/cli/policies.hpp"
#include "bench/cli/select.hpp"
#include "bench/runner/overrides.hpp"

namespace convscope {

// `run`, and `verify`, which is a run that measures nothing.
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

struct MergeOptions {
  std::vector<std::string> folders;
  std::string out;
};

struct CsvOptions {
  std::vector<std::string> results;
};

// The hidden verb of a child process; see bench/runner/worker.
struct WorkerOptions {
  pid_t parent = 0;
};

// --help or --version: a text to print, and nothing else to do.
struct Notice {
  std::string text;
};

using Command =
    std::variant<Notice, RunOptions, ListOptions, InfoOptions, ExplainOptions, ExecOptions, MergeOptions,
                 CsvOptions, SelectOptions, PoliciesOptions, ChooseOptions, WorkerOptions>;

// Throws UsageError with one sentence; an unknown verb or flag comes with the nearest one there is.
Command parse_command(const std::vector<std::string>& argv);

}  // namespace convscope
