#include "bench/select/workspace_curve.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "bench/report/ranking.hpp"

namespace convscope {
namespace {

int64_t bytes_of(Cap cap) {
  return cap.value_or(std::numeric_limits<int64_t>::max());
}

bool has_row(const Contest& contest, std::string_view algorithm) {
  const auto is_it = [&](const ResultRecord* row) { return row->key.algorithm == algorithm; };
  return contest.entry(algorithm) != nullptr ||
         std::any_of(contest.wrong.begin(), contest.wrong.end(), is_it) ||
         std::any_of(contest.without_time.begin(), contest.without_time.end(), is_it);
}

std::set<std::string> able_algorithms(std::span<const Contest* const> group) {
  std::set<std::string> ids;
  for (const Contest* contest : group)
    for (const Entry& entry : contest->able) ids.insert(entry.row->key.algorithm);
  return ids;
}

CurvePoint point_at(std::span<const Contest* const> group, const std::set<std::string>& ids, Cap cap) {
  CurvePoint point{cap, {}};
  for (const std::string& id : ids) {
    const CapRow found = row_at_cap(group, id, cap);
    if (found.row == nullptr) continue;
    if (point.winner.row == nullptr || ranks_before(found.row, point.winner.row)) point.winner = found;
  }
  return point;
}

std::vector<const ResultRecord*> front_of(std::span<const Contest* const> group) {
  std::vector<const ResultRecord*> rows, front;
  for (const Contest* contest : group)
    for (const Entry& entry : contest->able)
      if (!entry.row->health.throttled) rows.push_back(entry.row);
  std::sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->workspace_bytes, median_seconds(*a), a->key.algorithm) <
           std::tuple(b->workspace_bytes, median_seconds(*b), b->key.algorithm);
  });
  for (const ResultRecord* row : rows)
    if (front.empty() || median_seconds(*row) < median_seconds(*front.back())) front.push_back(row);
  return front;
}

std::optional<size_t> knee_of(const std::vector<CurvePoint>& points) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const CurvePoint& point : points)
    if (point.winner.row != nullptr) fastest = std::min(fastest, median_seconds(*point.winner.row));
  for (size_t i = 0; i < points.size(); ++i)
    if (points[i].winner.row != nullptr &&
        median_seconds(*points[i].winner.row) <= (1 + kKneeSlack) * fastest)
      return i;
  return std::nullopt;
}

}  // namespace

std::string_view name(Evidence evidence) {
  switch (evidence) {
    case Evidence::at_cap:
      return "at this cap";
    case Evidence::at_larger_cap:
      return "at a larger cap";
    case Evidence::at_smaller_cap:
      return "at a smaller cap";
  }
  return "";
}

CapRow row_at_cap(std::span<const Contest* const> same_but_cap, std::string_view algorithm, Cap cap) {
  CapRow larger, smaller;
  for (const Contest* contest : same_but_cap) {
    const Cap measured = contest->key().workspace_cap;
    const Entry* entry = contest->entry(algorithm);
    if (measured == cap && has_row(*contest, algorithm))
      return entry == nullptr ? CapRow{} : CapRow{entry->row, Evidence::at_cap};
    if (entry == nullptr || entry->row->workspace_bytes > bytes_of(cap)) continue;
    // Of several caps the nearest counts.
    const bool is_larger = bytes_of(measured) > bytes_of(cap);
    CapRow& best = is_larger ? larger : smaller;
    const auto distance_is_less = [&](const ResultRecord* than) {
      const int64_t old = bytes_of(than->key.workspace_cap);
      return is_larger ? bytes_of(measured) < old : bytes_of(measured) > old;
    };
    if (best.row == nullptr || distance_is_less(best.row))
      best = {entry->row, is_larger ? Evidence::at_larger_cap : Evidence::at_smaller_cap};
  }
  return larger.row != nullptr ? larger : smaller;
}

std::vector<std::vector<const Contest*>> grouped_over_caps(std::span<const Contest> contests) {
  std::vector<std::vector<const Contest*>> groups;
  const auto identity = [](const Contest& contest) {
    const CaseKey& key = contest.key();
    return std::tuple(key.network, key.layer, key.problem, key.device_id(), contest.first->device.name,
                      key.threads, key.cache);
  };
  std::map<decltype(identity(contests.front())), size_t> index_of;
  for (const Contest& contest : contests) {
    const auto [place, is_new] = index_of.try_emplace(identity(contest), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&contest);
  }
  return groups;
}

std::vector<WorkspaceCurve> workspace_curves(std::span<const Contest> contests, std::span<const Cap> caps) {
  std::vector<WorkspaceCurve> curves;
  for (const auto& group : grouped_over_caps(contests)) {
    WorkspaceCurve curve;
    curve.contest = group.front();
    const std::set<std::string> ids = able_algorithms(group);
    for (Cap cap : caps) curve.points.push_back(point_at(group, ids, cap));
    curve.front = front_of(group);
    curve.knee = knee_of(curve.points);
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace convscope
