#include "bench/select/judgement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

// What was measured: records of one library with the same implementation are the same code under two ids. Our
// own algorithms are their id.
std::string implementation_key(const ResultRecord& record) {
  const AlgorithmInfo& algorithm = record.algorithm;
  if (algorithm.provider == "convscope" || record.implementation.empty()) return record.key.algorithm;
  return algorithm.provider + "/" + record.implementation;
}

int rank_among_implementations(const Contest& contest, const Entry& choice) {
  const std::string chosen = implementation_key(*choice.record);
  std::set<std::string> faster;
  for (const Entry& entry : contest.ranked) {
    const std::string key = implementation_key(*entry.record);
    if (key == chosen) break;
    faster.insert(key);
  }
  return static_cast<int>(faster.size()) + 1;
}

// The contest's ranked entry by the choice's own provider that is the best.
const Entry& best_of_provider(const Contest& contest, const Entry& choice) {
  for (const Entry& entry : contest.ranked)
    if (entry.record->algorithm.provider == choice.record->algorithm.provider) return entry;
  return choice;
}

std::string why_missing(const Contest& contest, std::string_view algorithm) {
  for (const auto& records : {contest.wrong, contest.without_time})
    for (const ResultRecord* record : records)
      if (record->key.algorithm == algorithm)
        return record->reason == Reason::none ? std::string(name(record->outcome))
                                              : std::string(name(record->reason));
  return "no record";
}

double ratio_less_1(const Entry& a, const Entry& b) {
  return median_seconds(*a.record) / median_seconds(*b.record) - 1;
}

}  // namespace

Stability stability(const Entry& entry) {
  std::map<std::string, size_t> times;
  size_t max_count = 0;
  double fastest = median_seconds(*entry.repeats.front()), slowest = fastest;
  size_t repeats = 0;
  const auto count = [&](const std::string& implementation) {
    ++repeats;
    max_count = std::max(max_count, ++times[implementation]);
  };
  for (const ResultRecord* record : entry.repeats) {
    if (record->answer && !record->answer->repeats.empty())
      std::for_each(record->answer->repeats.begin(), record->answer->repeats.end(), count);
    else
      count(record->implementation);
    fastest = std::min(fastest, median_seconds(*record));
    slowest = std::max(slowest, median_seconds(*record));
  }
  return {repeats, times.size(), static_cast<double>(max_count) / static_cast<double>(repeats),
          slowest / fastest - 1};
}

Judgement judge(const Contest& contest, std::string_view algorithm) {
  Judgement judgement;
  judgement.contest = &contest;
  judgement.choice = contest.entry(algorithm);
  if (judgement.choice == nullptr) {
    judgement.missing = why_missing(contest, algorithm);
    return judgement;
  }
  const Entry& choice = *judgement.choice;
  const Entry& oracle = contest.ranked.front();
  judgement.regret = ratio_less_1(choice, oracle);
  judgement.regret_in_library = ratio_less_1(choice, best_of_provider(contest, choice));
  judgement.rank = rank_among_implementations(contest, choice);
  judgement.is_tie = &choice == &oracle || is_in_doubt(*choice.record, *oracle.record);
  return judgement;
}

Score score(std::span<const Judgement> judgements) {
  Score score;
  for (const Judgement& judgement : judgements) {
    if (judgement.choice == nullptr) {
      score.missing.push_back(judgement);
      continue;
    }
    const Contest& contest = *judgement.contest;
    const Entry& choice = *judgement.choice;
    const Entry& oracle = contest.ranked.front();
    const Entry& library = best_of_provider(contest, choice);
    const auto count = static_cast<double>(contest.key().count);
    ++score.judged;
    score.top1 += judgement.rank <= 1;
    score.top3 += judgement.rank <= 3;
    score.choice_seconds += count * median_seconds(*choice.record);
    score.oracle_seconds += count * median_seconds(*oracle.record);
    score.library_seconds += count * median_seconds(*library.record);
    for (const Entry* entry : {&choice, &oracle, &library})
      score.suspect = score.suspect || is_suspect(*entry->record);
  }
  return score;
}

std::vector<std::string> choosers_in(std::span<const Contest> contests,
                                     std::span<const std::string> choosers) {
  std::vector<std::string> ids;
  const auto add = [&](const ResultRecord& record) {
    const std::string& id = record.key.algorithm;
    const bool is_chooser =
        std::any_of(choosers.begin(), choosers.end(), [&](const auto& name) { return is_named(id, name); });
    if (is_chooser && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const Contest& contest : contests) {
    for (const Entry& entry : contest.ranked) add(*entry.record);
    for (const ResultRecord* record : contest.wrong) add(*record);
    for (const ResultRecord* record : contest.without_time) add(*record);
  }
  return ids;
}

std::vector<std::string> default_choosers() {
  return {"cudnn.get",           "cudnn.find",     "cudnn.heur_a", "cudnn.heur_b",
          "cudnn.heur_fallback", "cudnn.autotune", "onednn.auto"};
}

}  // namespace convscope
