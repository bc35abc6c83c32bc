// step_choosers.cpp: `step --choose`, which algorithm runs a convolution of a step that is run.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/cli/read/policies.hpp"
#include "bench/cli/step/step.hpp"
#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/algorithm_patterns.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/select/cost_model.hpp"

namespace convscope {
namespace {

std::optional<size_t> index_of(const TaskCandidates& candidates, std::string_view id) {
  const auto found = std::ranges::find(candidates.all, id, &StepCandidate::id);
  return found == candidates.all.end() ? std::nullopt
                                       : std::optional(static_cast<size_t>(found - candidates.all.begin()));
}

// "amd-f25m17s1" of "amd-f25m17s1-0a1b2c3d".
std::string_view processor_of(std::string_view machine_class) {
  return machine_class.substr(0, machine_class.rfind('-'));
}

// A class of machine, or one unit of it: a process that is bound to some of its cores is of another class.
// Where units are unknown, as in a container, the processor must do.
bool is_same_machine(const DeviceInfo& a, const DeviceInfo& b) {
  if (a.machine_class.empty() || b.machine_class.empty()) return a.name == b.name;
  if (a.machine_class == b.machine_class) return true;
  return a.machine_unit.empty() || b.machine_unit.empty()
             ? a.name == b.name && processor_of(a.machine_class) == processor_of(b.machine_class)
             : a.machine_unit == b.machine_unit;
}

// Where results were measured that a step can choose by.
struct Place {
  explicit Place(const StepRun& run) : device(run.device), threads(run.threads) {}
  bool is_of(const ResultRecord& record) const {
    return record.key.device_id() == device.id() && record.key.threads == threads &&
           is_same_machine(record.device, device);
  }
  std::string text() const {  // "with 2 threads on AMD EPYC (amd-f25m17s1-0a1b2c3d)"
    CaseKey key;
    key.device = device.kind;
    key.device_index = device.index;
    const std::string on = "on " + device_text(key, device);
    return device.kind == DeviceKind::cpu ? fmt::format("with {} {}", counted(threads, "thread"), on) : on;
  }
  std::string flags() const {
    return device.kind == DeviceKind::cpu ? fmt::format("--threads {}", threads)
                                          : fmt::format("--device {}", name(device.id()));
  }

  DeviceInfo device;
  int threads;
};

std::string how_to_measure(const StepOptions& options, const ConvProblem& problem, const Place& place,
                           Cap cap) {
  std::string text = fmt::format("measure the layers: {} run {} --batch {} {}", program_at_hand(),
                                 shell_word(options.config), problem.batch, place.flags());
  if (problem.epilogue != Epilogue::none) text += fmt::format(" --epilogue none,{}", name(problem.epilogue));
  return text + fmt::format(" --cache cold --workspace-cap {} --out DIR", byte_limit_text(cap));
}

// Records that are taken of --rows, and all of those, which they point into.
struct Taken {
  explicit Taken(const StepOptions& options) : file(read_all_results(options.rows)) {}
  ResultFile file;
  std::vector<const ResultRecord*> records;
};

// The first of them that is of the problem, at this batch, measured at the place, and that the step can run.
// `none` says what is missing where there is none, and `cap_for` under which cap it is to be measured.
Chooser first_taken(const std::shared_ptr<const Taken>& taken, const StepOptions& options, const Place& place,
                    const std::string& none, const std::function<Cap(const ConvProblem&)>& cap_for) {
  return [=, &options](const ConvProblem& problem,
                       const TaskCandidates& candidates) -> std::optional<size_t> {
    const ResultRecord* first = nullptr;
    for (const ResultRecord* record : taken->records) {
      const CaseKey& key = record->key;
      if (key.problem != problem || !place.is_of(*record) || !index_of(candidates, key.algorithm)) continue;
      if (first == nullptr) first = record;
      if (key.cache != first->key.cache)
        throw UsageError(fmt::format("--rows: the results have {} with caches {} and {}; {}",
                                     to_line(problem), name(first->key.cache), name(key.cache),
                                     how_to_measure(options, problem, place, cap_for(problem))));
    }
    if (first == nullptr)
      throw UsageError(fmt::format("{} of {} {} that this step can run; {}", none, to_line(problem),
                                   place.text(), how_to_measure(options, problem, place, cap_for(problem))));
    return index_of(candidates, first->key.algorithm);
  };
}

// What the policy takes of given results, under its own workspace cap.
Chooser by_policy(const StepOptions& options, const std::string& policy_path, const Place& place) {
  const std::vector<Policy> policies = load_policies({policy_path});
  const auto taken = std::make_shared<Taken>(options);
  const std::vector<Contest> all = contests(taken->file.records);
  for (const PolicyScope& scope : apply(policies, all, first_layers(taken->file.config)))
    for (const PolicyUnit& unit : scope.results.front().units)
      if (unit.chosen.record != nullptr) taken->records.push_back(unit.chosen.record);
  return first_taken(
      taken, options, place, fmt::format("--choose {}: the policy takes no record", options.choose),
      [policy = policies.front()](const ConvProblem& problem) { return cap_of(policy, problem); });
}

// The winners of given results, in FP32 and nchw, under the step's workspace cap.
Chooser best_of_records(const StepOptions& options, const StepRun& run) {
  const auto taken = std::make_shared<Taken>(options);
  for (const Contest& contest : contests(taken->file.records))
    if (contest.winner() != nullptr && contest.key().workspace_cap == run.workspace_cap)
      taken->records.push_back(contest.winner());
  return first_taken(
      taken, options, Place(run),
      fmt::format("--rows: no winner under --workspace-cap {}", byte_limit_text(run.workspace_cap)),
      [cap = run.workspace_cap](const ConvProblem&) { return cap; });
}

// The cost model's, of those that say what they do.
Chooser by_model(const Registry& registry, const Ceilings& ceilings) {
  return [&registry, ceilings](const ConvProblem& problem,
                               const TaskCandidates& candidates) -> std::optional<size_t> {
    std::vector<PlannedAlgorithm> planned;
    for (const StepCandidate& one : candidates.all)
      if (const auto operations = one.plan->operations();
          operations && counts_are_known(registry.find(one.id)->info()))
        planned.push_back({one.id, *operations});
    const std::vector<Prediction> predictions = predict(problem, planned, ceilings);
    return predictions.empty() ? std::nullopt : index_of(candidates, predictions.front().algorithm);
  };
}

// The first pattern's first algorithm that can run it.
Chooser first_of(const std::vector<std::string>& patterns, const Registry& registry, DeviceKind device) {
  std::vector<std::string> ids;
  for (const std::string& pattern : patterns)
    for (std::string& id : meant_by({pattern}, registry, device, Epilogue::bias_relu))
      ids.push_back(std::move(id));
  return [ids](const ConvProblem&, const TaskCandidates& candidates) -> std::optional<size_t> {
    for (const std::string& id : ids)
      if (const auto index = index_of(candidates, id)) return index;
    return std::nullopt;
  };
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t comma; (comma = text.find(',')) != std::string_view::npos; text.remove_prefix(comma + 1))
    parts.emplace_back(text.substr(0, comma));
  parts.emplace_back(text);
  return parts;
}

}  // namespace

bool is_policy(const std::string& choose) {
  return !policy_file(choose).empty();
}

void check_patterns(std::string_view flag, const std::vector<std::string>& patterns,
                    const Registry& registry) {
  for (const std::string& pattern : patterns)
    if (const std::string defect = defect_of_pattern(pattern, registry); !defect.empty())
      throw UsageError(fmt::format("{}: {}", flag, defect));
}

Chooser chooser_of(const StepOptions& options, const Program& program, const StepRun& run) {
  if (run.choose == kTuned) return {};
  if (run.choose == kBest) return best_of_records(options, run);
  if (run.choose == kModel) return by_model(program.registry, run.ceilings);
  if (const std::string file = policy_file(run.choose); !file.empty())
    return by_policy(options, file, Place(run));
  const std::vector<std::string> patterns = split(run.choose);
  check_patterns("--choose", patterns, program.registry);
  return first_of(patterns, program.registry, run.device.kind);
}

}  // namespace convscope
