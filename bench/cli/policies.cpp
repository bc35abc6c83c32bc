#include "bench/cli/policies.hpp"

#include <filesystem>
#include <ostream>
#include <system_error>

#include "bench/cli/policy_file.hpp"
#include "bench/cli/select.hpp"
#include "bench/cli/terminal.hpp"
#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/select/policy_report.hpp"

namespace convscope {

FirstLayers first_layers(const nlohmann::ordered_json& config) {
  FirstLayers first;
  if (config.is_array())
    for (const auto& entry : config) first.merge(first_layers(entry));
  if (!config.is_object() || !config.contains("layers") || !config.at("layers").is_array()) return first;
  for (const auto& layer : config.at("layers"))
    if (layer.is_object() && layer.value("first", false))
      first.emplace(config.value("name", ""), layer.value("name", ""));
  return first;
}

void print_policy_times(std::ostream& out, const PoliciesOptions& options) {
  std::vector<std::string> paths = options.policies;
  if (paths.empty()) {
    paths.emplace_back(kPolicyFolder);
    std::error_code unknown;
    if (!std::filesystem::is_directory(kPolicyFolder, unknown))
      throw UsageError("there is no folder " + std::string(kPolicyFolder) +
                       " beneath this one; say where the policies are with --policy FILE or --policy FOLDER");
  }
  const std::vector<Policy> policies = load_policies(paths);
  const ResultFile file = read_all_results(options.results);
  const std::vector<Contest> all = contests(file.records);
  const std::vector<PolicyScope> scopes = apply(policies, all, first_layers(file.config));
  if (options.json)
    out << dump_json(to_json(scopes), 1) << '\n';
  else
    print_policies(out, scopes, {describe_terminal().colour});
}

}  // namespace convscope
