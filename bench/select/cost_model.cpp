#include "bench/select/cost_model.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "bench/record/bound.hpp"

namespace convscope {
namespace {

bool is_refused(const ResultRecord& record) {
  return record.outcome == Outcome::unsupported || record.outcome == Outcome::over_workspace;
}

// One of each algorithm, whatever became of it.
std::vector<PlannedAlgorithm> planned(const Contest& contest) {
  std::vector<PlannedAlgorithm> algorithms;
  std::set<std::string> seen;
  const auto add = [&](const ResultRecord* record) {
    if (!is_refused(*record) && counts_are_known(record->algorithm) &&
        seen.insert(record->key.algorithm).second)
      algorithms.push_back({record->key.algorithm, record->operations});
  };
  for (const Entry& entry : contest.ranked) add(entry.record);
  for (const ResultRecord* record : contest.wrong) add(record);
  for (const ResultRecord* record : contest.without_time) add(record);
  return algorithms;
}

// At the bandwidth of memory where none of the caches was measured.
double cache_seconds(const OperationCount& count, const Ceilings& ceilings) {
  return count.cached_bytes /
         (ceilings.cache_read_bytes > 0 ? ceilings.cache_read_bytes : ceilings.copy_bytes);
}

}  // namespace

bool counts_are_known(const AlgorithmInfo& algorithm) {
  return algorithm.candidate && algorithm.provider == "convscope";
}

std::vector<Prediction> predict(const ConvProblem& problem, std::span<const PlannedAlgorithm> algorithms,
                                const Ceilings& ceilings) {
  std::vector<Prediction> predictions;
  const double rate = multiply_add_rate(problem.math, ceilings);
  if (!(rate > 0) || !(ceilings.copy_bytes > 0)) return predictions;
  for (const PlannedAlgorithm& algorithm : algorithms) {
    const OperationCount& count = algorithm.operations;
    if (!(count.executed_flops() > 0)) continue;
    predictions.push_back({algorithm.id, count.executed_flops() / rate,
                           count.bytes / ceilings.copy_bytes + cache_seconds(count, ceilings)});
  }
  std::sort(predictions.begin(), predictions.end(), [](const Prediction& a, const Prediction& b) {
    return std::tuple(a.seconds(), a.algorithm) < std::tuple(b.seconds(), b.algorithm);
  });
  return predictions;
}

std::vector<Prediction> predict(const Contest& contest) {
  return predict(contest.key().problem, planned(contest), contest.first().ceilings);
}

std::vector<Judgement> judge_predictions(const Network& network) {
  std::vector<Judgement> judgements;
  for (const Contest* contest : network.contests) {
    const std::vector<Prediction> predictions = predict(*contest);
    if (!predictions.empty()) {
      judgements.push_back(judge(*contest, predictions.front().algorithm));
      continue;
    }
    judgements.emplace_back();
    judgements.back().contest = contest;
    judgements.back().missing = "no record says what it does, or a ceiling is unknown";
  }
  return judgements;
}

}  // namespace convscope
