#include "bench/select/judgement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "bench/report/ranking.hpp"

namespace convscope {
namespace {

// What a row is a measurement of. Our own algorithms are their id.
std::string thing(const ResultRecord& row) {
  const AlgorithmInfo& algorithm = row.algorithm;
  if (algorithm.provider == "convscope" || row.implementation.empty()) return row.key.algorithm;
  return algorithm.provider + "/" + row.implementation;
}

int rank_of(const Contest& contest, const Entry& choice) {
  const std::string chosen = thing(*choice.row);
  std::set<std::string> faster;
  for (const Entry& entry : contest.able) {
    const std::string other = thing(*entry.row);
    if (other == chosen) break;
    faster.insert(other);
  }
  return static_cast<int>(faster.size()) + 1;
}

// A throttled choice ranks behind all that are not. Where it is faster all the same it is the best: without
// the throttling it would be faster still.
const Entry& best_or_choice(const Entry& best, const Entry& choice) {
  return median_seconds(*choice.row) < median_seconds(*best.row) ? choice : best;
}

const Entry& oracle_of(const Contest& contest, const Entry& choice) {
  return best_or_choice(contest.able.front(), choice);
}

// The contest's able entry by the choice's own provider that is the best.
const Entry& best_of_provider(const Contest& contest, const Entry& choice) {
  for (const Entry& entry : contest.able)
    if (entry.row->algorithm.provider == choice.row->algorithm.provider) return best_or_choice(entry, choice);
  return choice;
}

std::string why_missing(const Contest& contest, std::string_view algorithm) {
  for (const auto& rows : {contest.wrong, contest.without_time})
    for (const ResultRecord* row : rows)
      if (row->key.algorithm == algorithm)
        return row->reason == Reason::none ? std::string(name(row->outcome)) : std::string(name(row->reason));
  return "no row";
}

double ratio_less_1(const Entry& a, const Entry& b) {
  return median_seconds(*a.row) / median_seconds(*b.row) - 1;
}

}  // namespace

Stability stability(const Entry& entry) {
  std::map<std::string, size_t> times;
  size_t most = 0;
  double fastest = median_seconds(*entry.repeats.front()), slowest = fastest;
  size_t repeats = 0;
  const auto count = [&](const std::string& implementation) {
    ++repeats;
    most = std::max(most, ++times[implementation]);
  };
  for (const ResultRecord* row : entry.repeats) {
    if (row->answer && !row->answer->repeats.empty())
      std::for_each(row->answer->repeats.begin(), row->answer->repeats.end(), count);
    else
      count(row->implementation);
    fastest = std::min(fastest, median_seconds(*row));
    slowest = std::max(slowest, median_seconds(*row));
  }
  return {repeats, times.size(), static_cast<double>(most) / static_cast<double>(repeats),
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
  const Entry& oracle = oracle_of(contest, choice);
  judgement.regret = ratio_less_1(choice, oracle);
  judgement.regret_in_library = ratio_less_1(choice, best_of_provider(contest, choice));
  judgement.rank = rank_of(contest, choice);
  judgement.is_tie = &choice == &oracle || is_tie(*choice.row, *oracle.row);
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
    const Entry& oracle = oracle_of(contest, choice);
    const Entry& library = best_of_provider(contest, choice);
    const auto count = static_cast<double>(contest.key().count);
    ++score.judged;
    score.top1 += judgement.rank <= 1;
    score.top3 += judgement.rank <= 3;
    score.choice_seconds += count * median_seconds(*choice.row);
    score.oracle_seconds += count * median_seconds(*oracle.row);
    score.library_seconds += count * median_seconds(*library.row);
    for (const Entry* entry : {&choice, &oracle, &library})
      score.throttled = score.throttled || entry->row->health.throttled;
  }
  return score;
}

std::vector<std::string> choosers_in(std::span<const Contest> contests,
                                     std::span<const std::string> choosers) {
  std::vector<std::string> ids;
  const auto add = [&](const ResultRecord& row) {
    const std::string& id = row.key.algorithm;
    const bool is_chooser =
        std::any_of(choosers.begin(), choosers.end(), [&](const auto& name) { return is_named(id, name); });
    if (is_chooser && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const Contest& contest : contests) {
    for (const Entry& entry : contest.able) add(*entry.row);
    for (const ResultRecord* row : contest.wrong) add(*row);
    for (const ResultRecord* row : contest.without_time) add(*row);
  }
  return ids;
}

std::vector<std::string> default_choosers() {
  return {"cudnn.get",           "cudnn.find",     "cudnn.heur_a", "cudnn.heur_b",
          "cudnn.heur_fallback", "cudnn.autotune", "onednn.auto"};
}

}  // namespace convscope
