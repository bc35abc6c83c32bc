#include "bench/cli/read/policies.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <system_error>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_value.hpp"
#include "bench/select/policy.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOneFilter = "one_filter";

void read_cap(const ConfigValue& value, Policy& policy) {
  if (value.is_text() && value.text() == kOneFilter) {
    policy.cap_is_one_filter = true;
    return;
  }
  if (value.is_text() && !parse_byte_limit(value.text()))
    value.refuse_value(fmt::format("{}, or {}", kByteLimitForms, kOneFilter));
  policy.workspace_cap = value.byte_limit();
}

std::vector<std::string> read_names(const ConfigValue& value) {
  return read_each(value.one_or_list(), [](const ConfigValue& entry) { return entry.short_name(); });
}

void read_algorithms(const ConfigValue& value, Policy& policy) {
  std::vector<std::string> names = all_names(kPasses);
  const std::vector<std::string_view> known(names.begin(), names.end());
  value.check_object(known, {});
  for (Pass pass : kPasses)
    if (const auto list = value.find(name(pass))) policy.algorithms[pass] = read_names(*list);
  if (policy.algorithms.empty()) value.refuse_value("an object with at least one of " + comma_list(names));
}

void read_optional_text(const ConfigValue& top, std::string_view key, std::string& target) {
  if (const auto value = top.find(key)) target = value->text();
}

std::vector<std::string> policy_folders() {
  std::vector<std::string> folders;
  for (const fs::path& folder : config_folders()) folders.push_back((folder / "policies").string());
  return folders;
}

// The nearest of them that is there; empty where none is.
std::string policy_folder() {
  std::error_code unknown;
  for (const std::string& folder : policy_folders())
    if (fs::is_directory(folder, unknown)) return folder;
  return "";
}

// In the order of their names; none where there is no such folder.
std::set<std::string> policies_in(const std::string& folder) {
  std::set<std::string> files;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(folder, unknown))
    if (entry.path().extension() == ".json" && !is_schema(entry.path().string()))
      files.insert(entry.path().string());
  return files;
}

std::vector<std::string> known_policies() {
  std::set<std::string> names;
  for (const std::string& folder : policy_folders())
    for (const std::string& file : policies_in(folder)) names.insert(fs::path(file).stem().string());
  return {names.begin(), names.end()};
}

std::vector<std::string> files_of(const std::string& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    if (const std::string file = policy_file(path); !file.empty()) return {file};
    if (path.find_first_of("/.") != std::string::npos || fs::exists(path, unknown)) return {path};
    const std::vector<std::string> known = known_policies();
    throw UsageError(fmt::format("{}: there is no such file, and no policy of that name{}{}", path,
                                 known.empty() ? "" : "; there are " + comma_list(known),
                                 did_you_mean(path, known)));
  }
  const std::set<std::string> files = policies_in(path);
  if (files.empty()) throw UsageError(path + ": there is no policy (*.json) in this folder");
  return {files.begin(), files.end()};
}

struct PoliciesOptions {
  std::vector<std::string> results;   // files or folders
  std::vector<std::string> policies;  // --policy: files, names or folders; empty: policy_folder()
  bool json = false;
};

int print_policy_times(const PoliciesOptions& options, const Program& program) {
  std::vector<std::string> paths = options.policies;
  if (paths.empty()) {
    paths.push_back(policy_folder());
    if (paths.front().empty())
      throw UsageError(fmt::format(
          "there is no folder {} with policies; say where they are with --policy FILE or --policy "
          "FOLDER",
          fmt::join(policy_folders(), ", and no ")));
  }
  const std::vector<Policy> policies = load_policies(paths);
  const ResultFile file = read_all_results(options.results);
  const std::vector<Contest> all = contests(file.records);
  const std::vector<PolicyScope> scopes = apply(policies, all, first_layers(file.config));
  if (options.json)
    program.out << dump_json(to_json(scopes), 1) << '\n';
  else
    print_policies(program.out, scopes, program.terminal.look());
  return 0;
}

void add_flags(CLI::App& verb, PoliciesOptions& options) {
  add_results(verb, options.results);
  verb.add_option(
          "--policy", options.policies,
          "Policies by file or name, or folders of them (docs/policies.md); configs/policies, here or "
          "beside the program, when left out.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PATH,...");
  add_json(verb, options.json);
  verb.footer(
      "Runs nothing, and no framework: it adds up the records that each policy would take.\n\n"
      "Examples:\n"
      "  convscope policies out/alexnet\n"
      "  convscope policies out/alexnet --policy cpu_onednn,my_policy.json");
}

}  // namespace

Policy policy_from_json(const nlohmann::json& json, const std::string& file) {
  constexpr std::array<std::string_view, 4> required{"name", "source", "library", "algorithms"};
  const ConfigValue top(json, file);
  top.check_object(kPolicyKeys, required);
  Policy policy;
  if (const auto schema = top.find("$schema")) schema->text();  // for editors
  policy.name = top.at("name").short_name();
  policy.source = top.at("source").text();
  policy.library = top.at("library").short_name();
  read_optional_text(top, "title", policy.title);
  read_optional_text(top, "framework", policy.framework);
  read_optional_text(top, "unverified", policy.unverified);
  if (const auto value = top.find("default")) policy.is_default = value->boolean();
  if (const auto value = top.find("workspace_cap")) read_cap(*value, policy);
  if (const auto value = top.find("layout")) policy.layout = value->one_of(kLayouts);
  if (const auto value = top.find("math")) policy.math = value->one_of(kMathModes);
  if (const auto value = top.find("take")) policy.take = value->one_of(kTakes);
  read_algorithms(top.at("algorithms"), policy);
  return policy;
}

std::string policy_file(const std::string& name) {
  std::error_code unknown;
  if (name.ends_with(".json") && fs::is_regular_file(name, unknown)) return name;
  if (name.find('/') != std::string::npos) return "";
  for (const std::string& folder : policy_folders())
    if (const std::string file = folder + "/" + name + ".json"; fs::is_regular_file(file, unknown))
      return file;
  return "";
}

std::vector<Policy> load_policies(const std::vector<std::string>& paths) {
  std::vector<Policy> policies;
  for (const std::string& path : paths)
    for (const std::string& file : files_of(path)) {
      Policy policy = policy_from_json(read_json_file(file), file);
      for (const Policy& earlier : policies)
        if (earlier.name == policy.name)
          throw UsageError(
              fmt::format("{}: at /name: found the text \"{}\"; allowed is every name once, and another file "
                          "has this one",
                          file, policy.name));
      policies.push_back(std::move(policy));
    }
  return policies;
}

FirstLayers first_layers(const nlohmann::ordered_json& config) {
  FirstLayers first;
  if (config.is_array())
    for (const auto& entry : config) first.merge(first_layers(entry));
  if (!config.is_object() || !config.contains("layers") || !config.at("layers").is_array()) return first;
  const auto name_of = [](const nlohmann::ordered_json& object) {
    const auto found = object.find("name");
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  for (const auto& layer : config.at("layers"))
    if (layer.is_object() && layer.contains("first") && layer.at("first") == true)
      first.emplace(name_of(config), name_of(layer));
  return first;
}

Verb policies_verb() {
  return make_verb<PoliciesOptions>(
      "policies", "A network's convolution time under the choices of several frameworks: policy emulation.",
      add_flags, print_policy_times);
}

}  // namespace convscope
