#include "bench/ranking/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/ranking/contest.hpp"

namespace convscope {
namespace {

bool has_interval(const ResultRecord& record) {
  return std::isfinite(record.time->full.statistics.ci_low);
}

// A share of the cores that is below this explains why a record was throttled, and a share of its time that a
// record lost explains above the other why it was disturbed.
constexpr double kExplainingShare = 0.75, kExplainingLoss = 0.03;
// What a suspect record had of its device at least, where no reading measures what slowed it: threads far
// apart, a clock that a driver holds down.
constexpr double kMinShare = 0.25;

double share_of_device(const Health& health) {
  double share = 1;
  if (health.throttled) {
    const double cores = health.core_share.value_or(1);
    share = cores < kExplainingShare ? cores : kMinShare;
  }
  // A core that another program has looks slow, too: the two are one cause.
  if (health.disturbed) {
    const double lost = health.lost_share.value_or(0);
    share = std::min(share, lost > kExplainingLoss ? 1 - lost : kMinShare);
  }
  return share;
}

// The least that the median may be on a quiet device.
double least_seconds(const ResultRecord& record) {
  return share_of_device(record.health) * record.time->full.statistics.ci_low;
}

// Of a record of the contest, until it is found to stand for its candidate.
Ranking unranked(const ResultRecord& record, const Contest& contest, int64_t number) {
  Ranking ranking;
  ranking.contest = number;
  ranking.standing = standing_of(record);
  if (can_win(record))
    ranking.standing =
        contest.entry(record.key.algorithm) == nullptr ? Standing::wrong_repeat : Standing::repeat;
  return ranking;
}

// Of the record that stands for the candidate in this place.
void add_rank(Ranking& ranking, const ResultRecord& record, int64_t place, const Contest& contest) {
  const ResultRecord* baseline = contest.baseline();
  const ResultRecord* winner = contest.winner();
  ranking.rank = place;
  ranking.standing = standing_of(record);
  ranking.in_doubt = &record != winner && is_in_doubt(record, *winner);
  ranking.is_baseline = &record == baseline;
  ranking.over_winner = median_seconds(record) / median_seconds(*winner);
  if (baseline != nullptr) ranking.speed_up = median_seconds(*baseline) / median_seconds(record);
}

}  // namespace

bool is_timed(const ResultRecord& record) {
  return record.time && record.time->full.statistics.n > 0 && record.time->full.statistics.median > 0;
}

double median_seconds(const ResultRecord& record) {
  return record.time->full.statistics.median;
}

Standing standing_of(const ResultRecord& record) {
  switch (record.outcome) {
    case Outcome::measured:
      if (!is_timed(record)) return Standing::untimed;
      // A core that another program has looks like one that throttles, too: the cause comes first.
      if (record.health.disturbed) return Standing::disturbed;
      if (record.health.throttled) return Standing::throttled;
      return has_virtual_time(record) ? Standing::virtual_time : Standing::good;
    case Outcome::verified_only:
      return Standing::untimed;
    case Outcome::wrong:
      return Standing::wrong;
    case Outcome::unsupported:
    case Outcome::over_workspace:
      return Standing::refused;
    case Outcome::out_of_memory:
    case Outcome::timeout:
    case Outcome::crashed:
    case Outcome::failed:
      return Standing::failed;
  }
  return Standing::failed;
}

bool can_win(const ResultRecord& record) {
  return record.outcome == Outcome::measured && is_timed(record);
}

bool is_suspect(const ResultRecord& record) {
  return record.health.throttled || record.health.disturbed;
}

bool ranks_before(const ResultRecord* a, const ResultRecord* b) {
  if (median_seconds(*a) != median_seconds(*b)) return median_seconds(*a) < median_seconds(*b);
  return a->key.algorithm < b->key.algorithm;
}

bool is_in_doubt(const ResultRecord& record, const ResultRecord& faster) {
  return !has_interval(record) || !has_interval(faster) ||
         least_seconds(record) <= faster.time->full.statistics.ci_high;
}

bool is_library(const ResultRecord& record) {
  const std::string_view id = record.key.algorithm;
  return id.substr(0, id.find('.')) == record.algorithm.provider;
}

void rank_records(std::span<ResultRecord> records) {
  const auto ranking_of = [&](const ResultRecord* record) -> std::optional<Ranking>& {
    return records[static_cast<size_t>(record - records.data())].ranking;
  };
  const std::vector<Contest> all = contests(records);
  for (size_t i = 0; i < all.size(); ++i) {
    for (const ResultRecord* record : all[i].records)
      ranking_of(record) = unranked(*record, all[i], static_cast<int64_t>(i) + 1);
    for (size_t place = 0; place < all[i].ranked.size(); ++place) {
      const ResultRecord* record = all[i].ranked[place].record;
      add_rank(*ranking_of(record), *record, static_cast<int64_t>(place) + 1, all[i]);
    }
  }
  for (const auto& group : grouped_over_caps(all))
    for (const ResultRecord* record : pareto_front(group)) ranking_of(record)->on_front = true;
}

}  // namespace convscope
