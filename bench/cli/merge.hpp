// The verb `merge`; the joining itself is bench/runner/merge.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/options.hpp"

namespace convscope {

// Returns the exit code. Throws UsageError.
int merge(const MergeOptions& options, const std::vector<std::string>& argv);

}  // namespace convscope
