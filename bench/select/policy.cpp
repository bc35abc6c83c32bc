#include "bench/select/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/ranking/ranking.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

bool is_meant(std::string_view id, std::string_view pattern) {
  if (pattern.ends_with('*')) return id.starts_with(pattern.substr(0, pattern.size() - 1));
  return is_named(id, pattern);
}

// A layer whatever its pass, math and layout.
ConvProblem shape_of(const Contest& contest) {
  ConvProblem shape = contest.key().problem;
  shape.pass = Pass::forward;
  shape.math = MathMode::fp32;
  shape.layout = Layout::nchw;
  return shape;
}

struct LayerOf {
  std::string name;
  int64_t count;
  ConvProblem shape;
};

std::vector<LayerOf> layers_of(std::span<const Contest* const> contests) {
  std::vector<LayerOf> layers;
  for (const Contest* contest : contests) {
    const CaseKey& key = contest->key();
    const ConvProblem shape = shape_of(*contest);
    const bool is_known = std::any_of(layers.begin(), layers.end(), [&](const LayerOf& layer) {
      return layer.name == key.layer && layer.shape == shape;
    });
    if (!is_known) layers.push_back({key.layer, key.count, shape});
  }
  return layers;
}

CapRecord choose(const Policy& policy, std::span<const Contest* const> group,
                 const std::vector<std::string>& patterns, Cap cap) {
  CapRecord best;
  for (const std::string& pattern : patterns) {
    std::set<std::string> ids = ranked_algorithms(group);
    std::erase_if(ids, [&](const std::string& id) { return !is_meant(id, pattern); });
    const CapRecord found = winner_at_cap(group, ids, cap);
    if (found.record != nullptr && (best.record == nullptr || ranks_before(found.record, best.record)))
      best = found;
    if (policy.take == Take::first && best.record != nullptr) return best;
  }
  return best;
}

std::string why_not(const Policy& policy, std::span<const Contest* const> group,
                    const std::vector<std::string>& patterns, Cap cap) {
  if (group.empty()) return fmt::format("no records of {} {}", name(policy.math), name(policy.layout));
  std::set<std::string> reasons;
  for (const Contest* contest : group) {
    const auto add = [&](const ResultRecord* record, const std::string& reason) {
      for (const std::string& pattern : patterns)
        if (is_meant(record->key.algorithm, pattern))
          reasons.insert(fmt::format("{} {}", record->key.algorithm, reason));
    };
    for (const ResultRecord* record : contest->wrong) add(record, "is wrong");
    for (const ResultRecord* record : contest->without_time)
      add(record, std::string(record->reason == Reason::none ? name(record->outcome) : name(record->reason)));
    for (const Entry& entry : contest->ranked)
      add(entry.record,
          fmt::format("was measured with {} of workspace", bytes_text(entry.record->workspace_bytes)));
  }
  const std::string limit = cap ? fmt::format(" under {}", bytes_text(*cap)) : "";
  if (reasons.empty()) return fmt::format("no record of {}{}", comma_list(patterns), limit);
  return fmt::format("{}{}", comma_list({reasons.begin(), reasons.end()}), limit);
}

PolicyUnit unit_of(const Policy& policy, std::span<const Contest* const> contests, const LayerOf& layer,
                   Pass pass, bool is_first) {
  ConvProblem problem = layer.shape;
  problem.pass = pass;
  problem.math = policy.math;
  problem.layout = policy.layout;
  std::vector<const Contest*> group;
  for (const Contest* contest : contests)
    if (contest->key().layer == layer.name && contest->key().problem == problem) group.push_back(contest);
  const Cap cap = cap_of(policy, problem);
  const auto& patterns = policy.algorithms.at(pass);
  PolicyUnit unit{layer.name, pass, layer.count, is_first && pass == Pass::backward_data, {}, ""};
  unit.chosen = choose(policy, group, patterns, cap);
  if (unit.chosen.record == nullptr) unit.missing = why_not(policy, group, patterns, cap);
  return unit;
}

PolicyResult result_of(const Policy& policy, std::span<const Contest* const> contests,
                       const FirstLayers& first_layers) {
  PolicyResult result{&policy, {}};
  const std::string& network = contests.front()->key().network;
  for (const LayerOf& layer : layers_of(contests))
    for (Pass pass : kPasses)
      if (policy.algorithms.contains(pass))
        result.units.push_back(
            unit_of(policy, contests, layer, pass, first_layers.contains({network, layer.name})));
  return result;
}

bool is_in(const PolicyUnit& unit, Part part) {
  const bool is_forward = unit.pass == Pass::forward;
  switch (part) {
    case Part::forward:
      return is_forward;
    case Part::backward:
      return !is_forward;
    case Part::backward_without_first:
      return !is_forward && !unit.first_backward_data;
    case Part::step:
      return true;
    case Part::step_without_first:
      return !unit.first_backward_data;
  }
  return false;
}

}  // namespace

std::string_view name(Take take) {
  return take == Take::first ? "first" : "fastest";
}

bool does_backward(const Policy& policy) {
  return policy.algorithms.contains(Pass::backward_data) && policy.algorithms.contains(Pass::backward_filter);
}

Cap cap_of(const Policy& policy, const ConvProblem& problem) {
  if (!policy.cap_is_one_filter) return policy.workspace_cap;
  return problem.in_channels_per_group() * problem.filter.h * problem.filter.w * 4;
}

std::vector<PolicyScope> apply(std::span<const Policy> policies, std::span<const Contest> contests,
                               const FirstLayers& first_layers) {
  std::vector<PolicyScope> scopes;
  const auto identity = [](const Contest& contest) {
    Circumstances shared = circumstances_of(contest.first());
    shared.math = {};
    shared.layout = {};
    shared.workspace_cap.reset();
    return shared;
  };
  for (const Contest& contest : contests) {
    auto place = std::find_if(scopes.begin(), scopes.end(), [&](const PolicyScope& scope) {
      return identity(*scope.contests.front()) == identity(contest);
    });
    if (place == scopes.end()) place = scopes.insert(scopes.end(), PolicyScope{});
    place->contests.push_back(&contest);
  }
  for (PolicyScope& scope : scopes)
    for (const Policy& policy : policies)
      scope.results.push_back(result_of(policy, scope.contests, first_layers));
  return scopes;
}

PolicyTotal total(const PolicyResult& result, Part part) {
  PolicyTotal total;
  total.is_done = part == Part::forward || does_backward(*result.policy);
  for (const PolicyUnit& unit : result.units) {
    if (!is_in(unit, part)) continue;
    if (unit.chosen.record == nullptr) {
      total.missing.push_back(fmt::format("{} {}: {}", unit.layer, name(unit.pass), unit.missing));
      continue;
    }
    ++total.units;
    total.other_caps += unit.chosen.evidence != Evidence::at_cap;
    total.seconds += median_seconds(*unit.chosen.record) * static_cast<double>(unit.count);
    total.suspect = total.suspect || is_suspect(*unit.chosen.record);
  }
  return total;
}

std::string emulated_on(const PolicyResult& result) {
  std::set<std::string> libraries;
  for (const PolicyUnit& unit : result.units) {
    if (unit.chosen.record == nullptr) continue;
    const AlgorithmInfo& algorithm = unit.chosen.record->algorithm;
    libraries.insert(algorithm.provider + (algorithm.version.empty() ? "" : " " + algorithm.version));
  }
  return fmt::format("{}", fmt::join(libraries, ", "));
}

}  // namespace convscope
