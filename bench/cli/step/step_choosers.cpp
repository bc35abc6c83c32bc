// step_choosers.cpp: `step --choose`, which algorithm runs a convolution of a step that is run.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/cli/read/policies.hpp"
#include "bench/cli/step/step.hpp"
#include "bench/core/error.hpp"
#include "bench/ranking/ranking.hpp"
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

// Where results were measured that a step can choose by.
struct Place {
  explicit Place(const StepRun& run) : device(run.device.id()), threads(run.threads) {}
  bool is_of(const CaseKey& key) const { return key.device_id() == device && key.threads == threads; }
  std::string text() const {  // "with 2 threads", "on cuda:1"
    return device.kind == DeviceKind::cpu ? fmt::format("with {} threads", threads)
                                          : fmt::format("on {}", name(device));
  }
  std::string flags() const {
    return device.kind == DeviceKind::cpu ? fmt::format("--threads {}", threads)
                                          : fmt::format("--device {}", name(device));
  }

  DeviceId device;
  int threads;
};

std::string how_to_measure(const StepOptions& options, const ConvProblem& problem, const Place& place) {
  return fmt::format(
      "measure the layers: {} run {} --batch {} {}{} --out DIR", program_at_hand(),
      shell_word(options.config), problem.batch, place.flags(),
      problem.epilogue == Epilogue::none ? "" : fmt::format(" --epilogue none,{}", name(problem.epilogue)));
}

// What the policy takes of given results at this batch, measured there.
Chooser by_policy(const StepOptions& options, const std::string& policy_path, const Place& place) {
  const auto policies = std::make_shared<const std::vector<Policy>>(load_policies({policy_path}));
  const auto file = std::make_shared<const ResultFile>(read_all_results(options.rows));
  const auto all = std::make_shared<const std::vector<Contest>>(contests(file->records));
  // The contests point into the file's records, and the scopes into both.
  const auto scopes =
      std::make_shared<const std::vector<PolicyScope>>(apply(*policies, *all, first_layers(file->config)));
  return [policies, file, all, scopes, place, &options](
             const ConvProblem& problem, const TaskCandidates& candidates) -> std::optional<size_t> {
    for (const PolicyScope& scope : *scopes)
      for (const PolicyUnit& unit : scope.results.front().units) {
        const ResultRecord* const record = unit.chosen.record;
        if (record == nullptr || !place.is_of(record->key) || record->key.problem != problem) continue;
        if (const auto index = index_of(candidates, record->key.algorithm)) return index;
      }
    throw UsageError(
        fmt::format("--choose {}: the policy takes no record of {} {} that this step can run; {}",
                    options.choose, to_line(problem), place.text(), how_to_measure(options, problem, place)));
  };
}

// The winners of given results at this batch, measured there, in FP32 and nchw.
Chooser best_of_records(const StepOptions& options, const Place& place) {
  const auto file = std::make_shared<const ResultFile>(read_all_results(options.rows));
  const auto all = std::make_shared<const std::vector<Contest>>(contests(file->records));
  // The contests point into the file's records.
  return [file, all, place, &options](const ConvProblem& problem,
                                      const TaskCandidates& candidates) -> std::optional<size_t> {
    for (const Contest& contest : *all) {
      const CaseKey& key = contest.key();
      if (!place.is_of(key) || key.problem != problem) continue;
      if (const ResultRecord* winner = contest.winner())
        if (const auto index = index_of(candidates, winner->key.algorithm)) return index;
    }
    throw UsageError(fmt::format("--rows: no winner of {} {} that this step can run; {}", to_line(problem),
                                 place.text(), how_to_measure(options, problem, place)));
  };
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
  for (size_t comma = 0; comma != std::string_view::npos; text.remove_prefix(comma + 1)) {
    comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
  }
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
  if (run.choose == kBest) return best_of_records(options, Place(run));
  if (run.choose == kModel) return by_model(program.registry, run.ceilings);
  if (const std::string file = policy_file(run.choose); !file.empty())
    return by_policy(options, file, Place(run));
  const std::vector<std::string> patterns = split(run.choose);
  check_patterns("--choose", patterns, program.registry);
  return first_of(patterns, program.registry, run.device.kind);
}

}  // namespace convscope
