// The tables and the JSON of policies.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "bench/core/counted.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/report/format.hpp"
#include "bench/select/policy.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

struct NamedPart {
  Part part;
  std::string_view key;
};
constexpr std::array kParts{NamedPart{Part::forward, "forward"}, NamedPart{Part::backward, "backward"},
                            NamedPart{Part::backward_without_first, "backward_without_first_backward_data"},
                            NamedPart{Part::step, "step"},
                            NamedPart{Part::step_without_first, "step_without_first_backward_data"}};

// "-" where the policy does not do it or a record is missing.
std::string total_text(const PolicyResult& result, Part part) {
  const PolicyTotal sum = total(result, part);
  return sum.is_complete() ? milliseconds_text(sum.seconds) : "-";
}

bool has_records(const PolicyResult& result) {
  return total(result, Part::step).units > 0;
}

// What a framework's options alone give: the time of its default's step (without the first layer's
// backward-data) over this policy's; its forward pass where it does no other. Nothing where either is
// incomplete or the framework has no default here.
std::optional<double> speed_up_over_default(const PolicyScope& scope, const PolicyResult& result) {
  const Policy& policy = *result.policy;
  if (policy.framework.empty()) return std::nullopt;
  for (const PolicyResult& other : scope.results) {
    if (other.policy->framework != policy.framework || !other.policy->is_default) continue;
    const Part part = does_backward(policy) ? Part::step_without_first : Part::forward;
    const PolicyTotal before = total(other, part);
    const PolicyTotal after = total(result, part);
    if (!before.is_complete() || !after.is_complete()) return std::nullopt;
    return before.seconds / after.seconds;
  }
  return std::nullopt;
}

void add_policy(TextTable& table, const PolicyScope& scope, const PolicyResult& result) {
  const Policy& policy = *result.policy;
  const PolicyTotal all = total(result, Part::step);
  const auto speed_up = speed_up_over_default(scope, result);
  std::string what = policy.name;
  if (policy.is_default) what += " (default)";
  if (all.suspect) what += " (suspect)";
  table.add({what, total_text(result, Part::forward), total_text(result, Part::backward_without_first),
             total_text(result, Part::step_without_first), total_text(result, Part::backward),
             total_text(result, Part::step), speed_up ? fmt::format("{:.2f}x", *speed_up) : "-",
             all.other_caps == 0 ? "all" : fmt::format("{} of {}", all.units - all.other_caps, all.units)});
}

void print_missing(std::ostream& out, const PolicyScope& scope, const Look& look) {
  std::map<std::string, std::vector<std::string>> without_any_record;  // by library
  for (const PolicyResult& result : scope.results) {
    if (!has_records(result)) {
      without_any_record[result.policy->library].push_back(result.policy->name);
      continue;
    }
    const PolicyTotal all = total(result, Part::step);
    for (const std::string& missing : all.missing)
      fmt::print(
          out, "{}\n",
          wrapped(fmt::format("{}: no sum with {}", result.policy->name, missing), look.columns, "  "));
  }
  for (const auto& [library, policies] : without_any_record)
    fmt::print(out, "{}\n",
               wrapped(fmt::format("these results have no record for any layer (library: {}): {}", library,
                                   comma_list(policies)),
                       look.columns, "  "));
}

// The policies whose records come from the same libraries together.
void print_scope(std::ostream& out, const PolicyScope& scope, const Look& look) {
  const Contest& front = *scope.contests.front();
  const CaseKey& key = front.key();
  std::vector<std::string> labels;
  for (const PolicyResult& result : scope.results) {
    const std::string label = emulated_on(result);
    if (has_records(result) && std::find(labels.begin(), labels.end(), label) == labels.end())
      labels.push_back(label);
  }
  const Epilogue epilogue = key.problem.epilogue;
  print_heading(
      out, heading(front) + ", convolutions of one step, in ms",
      fmt::format("{}{}, {} cache, {}",
                  epilogue == Epilogue::none ? "" : fmt::format("with {}, ", name(epilogue)),
                  counted(key.threads, "thread"), name(key.cache), device_text(key, front.first().device)),
      look);
  for (const std::string& label : labels) {
    fmt::print(out, "policy emulation on {}\n", label);
    TextTable table({"<policy", ">forward ms|forward", ">backward ms|backward", ">step ms|step",
                     ">backward all", ">step all", ">options alone|options", ">records at its cap|at cap"},
                    {7, 4, 5, 6});
    for (const PolicyResult& result : scope.results)
      if (has_records(result) && emulated_on(result) == label) add_policy(table, scope, result);
    out << left_out_text(table.print(out, look), look);
  }
  print_missing(out, scope, look);
  out << '\n';
}

Json total_json(const PolicyTotal& sum) {
  return {{"seconds", sum.is_complete() ? Json(sum.seconds) : Json(nullptr)},
          {"rows", sum.units},
          {"rows_of_other_caps", sum.other_caps},
          {"suspect", sum.suspect},
          {"missing", sum.missing}};
}

Json unit_json(const PolicyUnit& unit) {
  Json json{{"layer", unit.layer},        {"pass", name(unit.pass)},   {"count", unit.count},
            {"algorithm", nullptr},       {"implementation", nullptr}, {"median_seconds", nullptr},
            {"workspace_bytes", nullptr}, {"measured", nullptr},       {"missing", nullptr}};
  if (unit.chosen.record == nullptr) {
    json["missing"] = unit.missing;
    return json;
  }
  const ResultRecord& record = *unit.chosen.record;
  json["algorithm"] = record.key.algorithm;
  json["implementation"] = record.implementation;
  json["median_seconds"] = median_seconds(record);
  json["workspace_bytes"] = record.workspace_bytes;
  json["measured"] = name(unit.chosen.evidence);
  return json;
}

Json result_json(const PolicyScope& scope, const PolicyResult& result) {
  const Policy& policy = *result.policy;
  Json json{{"policy", policy.name},        {"title", policy.title},   {"framework", policy.framework},
            {"default", policy.is_default}, {"source", policy.source}, {"unverified", policy.unverified}};
  json["label"] = has_records(result) ? Json("policy emulation on " + emulated_on(result)) : Json(nullptr);
  for (const auto& [part, key] : kParts) json[std::string(key)] = total_json(total(result, part));
  const auto speed_up = speed_up_over_default(scope, result);
  json["speed_up_over_default"] = speed_up ? Json(*speed_up) : Json(nullptr);
  json["layers"] = Json::array();
  for (const PolicyUnit& unit : result.units) json["layers"].push_back(unit_json(unit));
  return json;
}

}  // namespace

void print_policies(std::ostream& out, std::span<const PolicyScope> scopes, const Look& look) {
  if (scopes.empty()) {
    out << "no records\n";
    return;
  }
  for (const PolicyScope& scope : scopes) print_scope(out, scope, look);
  out << wrapped(
             "Policy emulation: what the choices of each policy cost on the library named, from its records "
             "here; never the framework itself. backward and step leave out the backward-data of layers that "
             "read the image; \"all\" has it. options alone: the framework's default over this policy.",
             look.columns, "")
      << '\n';
}

nlohmann::ordered_json to_json(std::span<const PolicyScope> scopes) {
  Json json = Json::array();
  for (const PolicyScope& scope : scopes) {
    Json entry = circumstances_json(*scope.contests.front(), false);
    entry.erase("math");  // as the layout, each policy's own
    entry.erase("layout");
    entry["policies"] = Json::array();
    for (const PolicyResult& result : scope.results) entry["policies"].push_back(result_json(scope, result));
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace convscope
