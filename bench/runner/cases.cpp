// The loops that make groups of a suite, with the checks that need the machine and the registry, and a task's
// JSON. Start at expand().
#include "bench/runner/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/algorithm_patterns.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {
namespace {

// The place is a field of the config, and where there is one an entry of it; or the flag that replaced the
// field.
[[noreturn]] void refuse(const Suite& suite, std::string_view field, std::optional<size_t> entry,
                         const std::string& what) {
  const auto flag = suite.flag_of.find(field);
  if (flag != suite.flag_of.end()) throw UsageError(fmt::format("{}: {}", flag->second, what));
  throw UsageError(
      fmt::format("{}: at /{}{}: {}", suite.file, field, entry ? fmt::format("/{}", *entry) : "", what));
}

}  // namespace

std::vector<DeviceInfo> selected_devices(const Suite& suite, const DeviceList& devices) {
  std::vector<DeviceInfo> selected;
  for (const DeviceInfo& info : devices.present)
    if (suite.devices.empty() && info.kind != DeviceKind::emulator && info.index == 0)
      selected.push_back(info);
  for (DeviceId id : suite.devices) {
    const DeviceInfo* info = devices.find(id);
    if (info == nullptr) refuse(suite, "devices", std::nullopt, devices.why_missing(id));
    selected.push_back(*info);
  }
  return selected;
}

namespace {

std::vector<int> resolved_threads(const Suite& suite, const DeviceInfo& info) {
  std::vector<int> resolved;
  for (int threads : suite.threads) {
    if (info.kind == DeviceKind::cpu && threads > info.cores)
      refuse(suite, "threads", std::nullopt,
             fmt::format("found the number {}; allowed is 0 (every core) to {}, the cores of this machine",
                         threads, info.cores));
    const int actual = threads_on(info, threads);
    if (std::find(resolved.begin(), resolved.end(), actual) == resolved.end()) resolved.push_back(actual);
  }
  return resolved;
}

// A device and what runs on it, the same for every layer.
struct Target {
  DeviceInfo info;
  std::vector<int> threads;
  std::map<Epilogue, std::vector<std::string>> algorithms;  // of the suite's, and of none
};

std::vector<Target> targets_of(const Suite& suite, const Registry& registry, const DeviceList& devices) {
  for (size_t i = 0; i < suite.algorithms.size(); ++i)
    if (const std::string defect = defect_of_pattern(suite.algorithms[i], registry); !defect.empty())
      refuse(suite, "algorithms", i, defect);
  std::vector<Target> targets;
  std::vector<std::string> kinds;
  for (const DeviceInfo& info : selected_devices(suite, devices)) {
    kinds.push_back(name(info.id()));
    Target target{info, resolved_threads(suite, info), {}};
    for (Epilogue epilogue : suite.epilogues)
      target.algorithms[epilogue] = meant_by(suite.algorithms, registry, info.kind, epilogue);
    std::erase_if(target.algorithms, [](const auto& entry) { return entry.second.empty(); });
    if (!target.algorithms.empty()) targets.push_back(std::move(target));
  }
  if (targets.empty())
    refuse(
        suite, "algorithms", std::nullopt,
        fmt::format("found {}, which matches no algorithm of this run's devices ({}); nothing is left to run",
                    comma_list(suite.algorithms), comma_list(kinds)));
  return targets;
}

void check_memory(const Suite& suite, size_t layer, const ConvProblem& problem, const DeviceInfo& info) {
  const bool is_known = info.memory_bytes > 0;
  if (!is_known || problem.total_bytes() <= info.memory_bytes) return;
  refuse(
      suite, "layers", layer,
      fmt::format("layer \"{}\" at batch {} needs {} for its tensors; allowed is at most {}, the memory of "
                  "the device {}",
                  suite.layers[layer].name, problem.batch, bytes_text(problem.total_bytes()),
                  bytes_text(info.memory_bytes), name(info.id())));
}

// The protocols of one problem: threads, cache states, caps.
void add_protocols(const Suite& suite, const Target& target, CaseKey key, std::vector<Group>& groups) {
  for (int threads : target.threads)
    for (CacheState cache : suite.measuring.cache)
      for (const auto& cap : suite.measuring.workspace_caps) {
        key.threads = threads;
        key.cache = cache;
        key.workspace_cap = cap;
        groups.push_back({key, target.algorithms.at(key.problem.epilogue)});
      }
}

// The problems of one layer in one pass on one device: batches, math modes, layouts, epilogues.
void add_problems(const Suite& suite, size_t index, Pass pass, const Target& target,
                  std::vector<Group>& groups) {
  const Layer& layer = suite.layers[index];
  CaseKey key;
  key.network = suite.name;
  key.layer = layer.name;
  key.count = layer.count;
  key.device = target.info.kind;
  key.device_index = target.info.index;
  key.seed = suite.measuring.seed;
  key.problem = layer.shape;
  key.problem.pass = pass;
  key.problem.epilogue = Epilogue::none;
  const auto batches = layer.batch ? std::vector{*layer.batch} : suite.batch.at(target.info.kind);
  for (int64_t batch : batches)
    for (MathMode math : suite.math)
      for (Layout layout : suite.layouts) {
        key.problem.batch = batch;
        key.problem.math = math;
        key.problem.layout = layout;
        check_memory(suite, index, key.problem, target.info);
        for (const auto& [epilogue, algorithms] : target.algorithms) {
          if (epilogue != Epilogue::none && pass != Pass::forward) continue;
          key.problem.epilogue = epilogue;
          add_protocols(suite, target, key, groups);
        }
      }
}

}  // namespace

std::string candidate_key(const CaseKey& key) {
  return fmt::format("{} {} {} {} {} threads={} cache={} cap={}{}", dump_json(key.network),
                     dump_json(key.layer), to_line(key.problem), key.algorithm, name(key.device_id()),
                     key.threads, name(key.cache), byte_limit_text(key.workspace_cap),
                     key.knobs == 0 ? "" : fmt::format(" knobs={}", key.knobs));
}

std::vector<Group> expand(const Suite& suite, const Registry& registry, const DeviceList& devices) {
  const auto targets = targets_of(suite, registry, devices);
  std::vector<Group> groups;
  for (size_t index = 0; index < suite.layers.size(); ++index)
    for (Pass pass : suite.passes) {
      if (pass == Pass::backward_data && !suite.needs_backward_data(suite.layers[index])) continue;
      for (const Target& target : targets) add_problems(suite, index, pass, target, groups);
    }
  if (groups.empty() && std::ranges::find(suite.passes, Pass::forward) == suite.passes.end() &&
      std::ranges::find(suite.epilogues, Epilogue::none) == suite.epilogues.end())
    refuse(
        suite, "epilogues", std::nullopt,
        fmt::format("found {}; only forward has an epilogue, and it is not among the passes: take forward to "
                    "them, or none to the epilogues",
                    comma_list(all_names(suite.epilogues))));
  if (groups.empty())
    refuse(suite, "passes", std::nullopt,
           "found only backward_data, and every layer is a first layer, whose backward-data pass training "
           "never needs; allowed with first_backward_data (--first-backward-data)");
  return groups;
}

std::vector<Group> shard(const std::vector<Group>& groups, int64_t index, int64_t count) {
  if (count < 1 || index < 1 || index > count)
    throw UsageError(fmt::format("shard: found {}/{}; allowed is I/N with 1 <= I <= N", index, count));
  const auto weight = [&](size_t i) {
    return groups[i].common.problem.nominal_flops() * static_cast<double>(groups[i].algorithms.size());
  };
  std::vector<size_t> heaviest_first(groups.size());
  std::iota(heaviest_first.begin(), heaviest_first.end(), size_t{0});
  std::stable_sort(heaviest_first.begin(), heaviest_first.end(),
                   [&](size_t a, size_t b) { return weight(a) > weight(b); });
  // Each group goes to the part that has least so far.
  std::vector<double> load(static_cast<size_t>(count), 0.0);
  std::vector<size_t> chosen;
  for (size_t i : heaviest_first) {
    const auto lightest = std::min_element(load.begin(), load.end());
    *lightest += weight(i);
    if (lightest - load.begin() == index - 1) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Group> part;
  for (size_t i : chosen) part.push_back(groups[i]);
  return part;
}

CaseKey candidate_of(const Group& group, const std::string& algorithm) {
  CaseKey key = group.common;
  key.algorithm = algorithm;
  return key;
}

nlohmann::ordered_json to_json(const GroupTask& task) {
  nlohmann::ordered_json json{{"key", to_json(task.group.common)},
                              {"algorithms", task.group.algorithms},
                              {"measure", task.protocol.measure},
                              {"blocker", task.protocol.blocker},
                              {"sampling", to_json(task.protocol.sampling)}};
  for (const ResultRecord& record : task.verified) json["verified"].push_back(to_json(record));
  return json;
}

GroupTask task_from_json(const nlohmann::ordered_json& json) try {
  GroupTask task;
  task.group.common = part_from_json<CaseKey>(json.at("key"));
  json.at("algorithms").get_to(task.group.algorithms);
  json.at("measure").get_to(task.protocol.measure);
  task.protocol.blocker = json.value("blocker", true);  // journals of the first version do not have it
  task.protocol.sampling = part_from_json<SamplingRule>(json.at("sampling"));
  if (json.contains("verified"))
    for (const auto& record : json["verified"]) task.verified.push_back(record_from_json(record));
  return task;
} catch (const nlohmann::json::exception& error) {
  throw UsageError("this is not a group of a convscope run: " + fault_text(error));
}

}  // namespace convscope
