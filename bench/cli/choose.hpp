// The verb `choose`: which algorithm our cost model takes for each layer and pass, from the problem and
// measured ceilings alone; on results also what that choice cost. Runs no convolution. The model is
// bench/select/cost_model.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/runner/overrides.hpp"

namespace convscope {

struct ChooseOptions {
  std::string config;                // the argument; empty with --results
  std::vector<std::string> results;  // --results: files or folders
  Overrides overrides;               // of the config
  bool json = false;                 // --json: one JSON document and nothing else
};

// Throws UsageError for a bad config or result file.
void choose(std::ostream& out, const ChooseOptions& options, const Registry& registry);

}  // namespace convscope
