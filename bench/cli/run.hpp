// The verbs `run` and `verify`: from options to a plan, through bench/runner/run_suite, to what is printed at
// the end and the exit code.
#pragma once

#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/cli/options.hpp"
#include "bench/runner/run_log.hpp"

namespace convscope {

// Returns the exit code. Throws UsageError.
int run(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry);

// The groups of every config, or of the one problem, with overrides and shard applied. Throws UsageError,
// also when two of the configs have a candidate in common.
RunPlan make_plan(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry,
                  const DeviceList& devices);

}  // namespace convscope
