// The verb `policies`: a network's convolution time under the choices of several frameworks, from result
// files. Measures nothing; the figures are bench/select/policy's.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/select/policy.hpp"

namespace convscope {

struct PoliciesOptions {
  std::vector<std::string> results;   // files or folders
  std::vector<std::string> policies;  // --policy: files or folders; empty: kPolicyFolder
  bool json = false;                  // --json: one JSON document and nothing else
};

// Throws UsageError for a file that cannot be read or is wrong.
void print_policy_times(std::ostream& out, const PoliciesOptions& options);

// The layers marked `first` in the suites of a result file's config, however deep merging has put them.
FirstLayers first_layers(const nlohmann::ordered_json& config);

}  // namespace convscope
