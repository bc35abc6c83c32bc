#include "bench/parallel/schedule/kept_records.hpp"

#include <cmath>
#include <tuple>

#include "bench/parallel/reductions/one_bit.hpp"
#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

auto circumstances_besides_batch(const ResultRecord& record) {
  const CaseKey& key = record.key;
  return std::tuple(key.device_id(), record.device.name, record.device.machine_class, key.problem.math,
                    key.problem.layout, key.problem.epilogue, key.threads, key.cache, key.workspace_cap);
}

const ResultRecord* record_of(const Scope& scope, const ConvProblem& problem, std::string_view choose) {
  const auto found = scope.contests.find(problem);
  if (found == scope.contests.end()) return nullptr;
  const Contest& contest = *found->second;
  if (choose == kBest) return contest.winner();
  for (const Entry& entry : contest.ranked)
    if (is_named(entry.record->key.algorithm, choose)) return entry.record;
  return nullptr;
}

double& seconds_of(LayerWork& work, Pass pass) {
  return pass == Pass::forward         ? work.forward
         : pass == Pass::backward_data ? work.backward_data
                                       : work.backward_filter;
}

// Adds what stands between the convolutions to the layer's work, by medians and the ends of intervals.
void add_operations(const OperationTimes& operations, LayerWork& work, LayerWork& lowest,
                    LayerWork& highest) {
  for (const auto& [layer, range] : {std::pair(&work, &TimeRange::median),
                                     {&lowest, &TimeRange::lowest},
                                     {&highest, &TimeRange::highest}}) {
    layer->forward_operations = operations.forward.*range;
    layer->backward_operations = operations.backward.*range;
    layer->update = operations.update.*range;
  }
}

}  // namespace

std::vector<Scope> scopes_of(std::span<const Contest> contests) {
  std::vector<Scope> scopes;
  for (const Contest& contest : contests) {
    const auto circumstances = circumstances_besides_batch(contest.first());
    Scope* scope = nullptr;
    for (Scope& known : scopes)
      if (circumstances_besides_batch(known.any().first()) == circumstances) scope = &known;
    if (scope == nullptr) scope = &scopes.emplace_back();
    const Contest*& entry = scope->contests[contest.key().problem];
    if (entry == nullptr || entry->ranked.empty()) entry = &contest;
  }
  return scopes;
}

StepWork step_work(std::span<const StepLayer> layers, const Scope& scope, int64_t batch,
                   std::string_view choose) {
  StepWork result;
  const CaseKey& key = scope.any().key();
  for (const StepLayer& layer : layers) {
    ConvProblem problem = layer.shape;
    problem.batch = batch;
    problem.math = key.problem.math;
    problem.layout = key.problem.layout;
    problem.epilogue = Epilogue::none;
    const int64_t values = problem.in_channels_per_group() * problem.filter.h * problem.filter.w;
    LayerWork work{layer.name};
    work.gradient_bytes = static_cast<double>(4 * problem.out_channels * (values + 1));
    work.coded_bytes =
        static_cast<double>(encoded_bytes({problem.out_channels, values}) + 4 * problem.out_channels);
    LayerWork lowest = work, highest = work;
    for (Pass pass : kPasses) {
      if (pass == Pass::backward_data && layer.first) continue;
      problem.pass = pass;
      const ResultRecord* record = record_of(scope, problem, choose);
      if (record == nullptr) {
        result.missing.push_back(layer.name + " " + std::string(name(pass)));
        continue;
      }
      const Statistics& time = record->time->full.statistics;
      result.suspect = result.suspect || is_suspect(*record);
      seconds_of(work, pass) = time.median;
      seconds_of(lowest, pass) = time.ci_low;  // NaN where there are too few samples for an interval
      seconds_of(highest, pass) = time.ci_high;
    }
    if (scope.operations) {
      const auto found = scope.operations->find({batch, layer.name});
      if (found == scope.operations->end()) {
        result.missing_operations.push_back(layer.name);
      } else {
        add_operations(found->second, work, lowest, highest);
        result.suspect = result.suspect || found->second.suspect;
        result.operation_seconds += static_cast<double>(layer.count) *
                                    (work.forward_operations + work.backward_operations + work.update);
      }
    }
    for (int64_t copy = 1; copy <= layer.count; ++copy) {
      const std::string number = layer.count == 1 ? "" : "#" + std::to_string(copy);
      for (auto [one, all] :
           {std::pair(&work, &result.layers), {&lowest, &result.lowest}, {&highest, &result.highest}}) {
        all->push_back(*one);
        all->back().name += number;
      }
    }
  }
  return result;
}

}  // namespace convscope
