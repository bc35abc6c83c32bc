#include "bench/parallel/schedule/kept_records.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "bench/parallel/reductions/one_bit.hpp"
#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

Circumstances circumstances_besides_batch(const ResultRecord& record) {
  Circumstances shared = circumstances_of(record);
  shared.network.clear();
  shared.batch = 0;
  return shared;
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

// The work of one copy of a layer: by medians, and by the ends of intervals.
struct CopyWork {
  LayerWork work, lowest, highest;
};

// Adds the times of what is run for the copy besides its convolution, each at this batch.
void add_operations(const std::vector<OperationProblem>& problems, double LayerWork::*place, int64_t batch,
                    const OperationTimes& times, CopyWork& copy, StepWork& result) {
  for (OperationProblem problem : problems) {
    if (problem.sort != OperationSort::update) problem.in.n = batch;
    const std::string text = to_text(problem);
    const auto found = times.find(text);
    if (found == times.end()) {
      if (std::ranges::find(result.missing_operations, text) == result.missing_operations.end())
        result.missing_operations.push_back(text);
      continue;
    }
    const KeptOperation& kept = *found->second;
    copy.work.*place += kept.time.median;
    copy.lowest.*place += kept.time.lowest;
    copy.highest.*place += kept.time.highest;
    result.operation_seconds += kept.time.median;
    result.suspect = result.suspect || kept.suspect;
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
      if (pass == Pass::backward_data && layer.skips_backward_data) continue;
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
    for (int64_t number = 1; number <= layer.count; ++number) {
      CopyWork copy{work, lowest, highest};
      if (scope.operations && number <= std::ssize(layer.operations)) {
        const StepLayer::Operations& of = layer.operations[static_cast<size_t>(number) - 1];
        for (const auto& [problems, place] : {std::pair(&of.forward, &LayerWork::forward_operations),
                                              {&of.backward, &LayerWork::backward_operations},
                                              {&of.backward_of_reads, &LayerWork::backward_of_reads},
                                              {&of.updates, &LayerWork::update}})
          add_operations(*problems, place, batch, *scope.operations, copy, result);
      }
      for (auto [one, all] : {std::pair(&copy.work, &result.layers),
                              {&copy.lowest, &result.lowest},
                              {&copy.highest, &result.highest}}) {
        all->push_back(*one);
        if (layer.count > 1) all->back().name += "#" + std::to_string(number);
      }
    }
  }
  return result;
}

}  // namespace convscope
