// The verb `policies`: a network's convolution time under the choices of several frameworks, from results,
// and the policies' JSON (docs/policies.md, configs/policies/schema.json), which is checked as configs are.
// What a policy means, and the figures, are bench/select/policy's. Measures nothing.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/select/policy.hpp"

namespace convscope {

// The keys that a policy may have; configs/policies/schema.json names the same (tested).
inline constexpr std::array<std::string_view, 13> kPolicyKeys{
    "$schema", "name",          "title",  "framework", "default", "source",    "unverified",
    "library", "workspace_cap", "layout", "math",      "take",    "algorithms"};

// Throws UsageError "FILE: at PLACE: found ...; allowed is ...".
Policy policy_from_json(const nlohmann::json& json, const std::string& file);

// The file of a policy: the path itself, or NAME.json in the nearest folder `policies` of config_folders()
// that has it; empty where there is neither.
std::string policy_file(const std::string& name);

// Files, names of policies, and folders whose *.json (schema.json aside) are taken in the order of their
// names. Throws UsageError for what is not there, a folder without policies, and two policies of one name.
std::vector<Policy> load_policies(const std::vector<std::string>& paths);

// The layers marked `first` in the suites of a result file's config, however deep merging has nested them.
FirstLayers first_layers(const nlohmann::ordered_json& config);

}  // namespace convscope
