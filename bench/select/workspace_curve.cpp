#include "bench/select/workspace_curve.hpp"

#include <algorithm>
#include <limits>

#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

int64_t bytes_of(Cap cap) {
  return cap.value_or(std::numeric_limits<int64_t>::max());
}

bool has_record(const Contest& contest, std::string_view algorithm) {
  return std::any_of(contest.records.begin(), contest.records.end(),
                     [&](const ResultRecord* record) { return record->key.algorithm == algorithm; });
}

// The record that says what `algorithm` does under the cap; its record is null where none does. A record of
// this algorithm at this very cap decides alone, refused or not.
CapRecord record_at_cap(std::span<const Contest* const> same_but_cap, std::string_view algorithm, Cap cap) {
  CapRecord larger, smaller;
  for (const Contest* contest : same_but_cap) {
    const Cap measured = contest->key().workspace_cap;
    const Entry* entry = contest->entry(algorithm);
    if (measured == cap && has_record(*contest, algorithm))
      return entry == nullptr ? CapRecord{} : CapRecord{entry->record, Evidence::at_cap};
    if (entry == nullptr || entry->record->workspace_bytes > bytes_of(cap)) continue;
    // Of several caps the nearest counts.
    const bool is_larger = bytes_of(measured) > bytes_of(cap);
    CapRecord& best = is_larger ? larger : smaller;
    const auto distance_is_less = [&](const ResultRecord* than) {
      const int64_t old = bytes_of(than->key.workspace_cap);
      return is_larger ? bytes_of(measured) < old : bytes_of(measured) > old;
    };
    if (best.record == nullptr || distance_is_less(best.record))
      best = {entry->record, is_larger ? Evidence::at_larger_cap : Evidence::at_smaller_cap};
  }
  return larger.record != nullptr ? larger : smaller;
}

std::optional<size_t> knee_of(const std::vector<CurvePoint>& points) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const CurvePoint& point : points)
    if (point.winner.record != nullptr) fastest = std::min(fastest, median_seconds(*point.winner.record));
  for (size_t i = 0; i < points.size(); ++i)
    if (points[i].winner.record != nullptr &&
        median_seconds(*points[i].winner.record) <= (1 + kKneeSlack) * fastest)
      return i;
  return std::nullopt;
}

}  // namespace

std::string_view name(Evidence evidence) {
  constexpr std::string_view names[] = {"at this cap", "at a larger cap", "at a smaller cap"};
  return names[static_cast<size_t>(evidence)];
}

std::set<std::string> ranked_algorithms(std::span<const Contest* const> group) {
  std::set<std::string> ids;
  for (const Contest* contest : group)
    for (const Entry& entry : contest->ranked) ids.insert(entry.record->key.algorithm);
  return ids;
}

CapRecord winner_at_cap(std::span<const Contest* const> same_but_cap, const std::set<std::string>& ids,
                        Cap cap) {
  CapRecord winner;
  for (const std::string& id : ids) {
    const CapRecord found = record_at_cap(same_but_cap, id, cap);
    if (found.record == nullptr) continue;
    if (winner.record == nullptr || ranks_before(found.record, winner.record)) winner = found;
  }
  return winner;
}

std::vector<WorkspaceCurve> workspace_curves(std::span<const Contest> contests, std::span<const Cap> caps) {
  std::vector<WorkspaceCurve> curves;
  for (const auto& group : grouped_over_caps(contests)) {
    WorkspaceCurve curve;
    curve.contest = group.front();
    const std::set<std::string> ids = ranked_algorithms(group);
    for (Cap cap : caps) curve.points.push_back({cap, winner_at_cap(group, ids, cap)});
    curve.front = pareto_front(group);
    curve.knee = knee_of(curve.points);
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace convscope
