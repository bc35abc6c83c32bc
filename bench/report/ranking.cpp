#include "bench/report/ranking.hpp"

#include <fmt/format.h>

#include "bench/report/format.hpp"

namespace convscope {

bool is_timed(const ResultRecord& record) {
  return record.time && record.time->full.statistics.n > 0 && record.time->full.statistics.median > 0;
}

bool can_win(const ResultRecord& record) {
  return record.outcome == Outcome::measured && is_timed(record);
}

double median_seconds(const ResultRecord& record) {
  return record.time->full.statistics.median;
}

bool ranks_before(const ResultRecord* a, const ResultRecord* b) {
  if (a->health.throttled != b->health.throttled) return b->health.throttled;
  if (median_seconds(*a) != median_seconds(*b)) return median_seconds(*a) < median_seconds(*b);
  return a->key.algorithm < b->key.algorithm;
}

bool is_tie(const ResultRecord& a, const ResultRecord& b) {
  const Statistics &x = a.time->full.statistics, &y = b.time->full.statistics;
  return x.ci_low <= y.ci_high && y.ci_low <= x.ci_high;  // false with NaN
}

std::string marked_name(const ResultRecord& record) {
  return record.key.algorithm + (record.health.throttled ? " (throttled)" : "");
}

bool is_baseline(const ResultRecord& record) {
  return record.key.algorithm.rfind("onednn.", 0) == 0;
}

std::optional<double> baseline_seconds(const std::vector<const ResultRecord*>& records) {
  const ResultRecord* best = nullptr;
  for (const ResultRecord* record : records)
    if (is_baseline(*record) && can_win(*record) && (best == nullptr || ranks_before(record, best)))
      best = record;
  return best == nullptr ? std::nullopt : std::optional(median_seconds(*best));
}

std::string device_text(const CaseKey& key, const DeviceInfo& device) {
  if (device.name.empty()) return name(key.device_id());
  return key.device_index == 0 ? device.name : fmt::format("{} ({})", device.name, name(key.device_id()));
}

std::string circumstances(const CaseKey& key, const DeviceInfo& device) {
  const std::string cap = key.workspace_cap
                              ? "workspace up to " + bytes_text(static_cast<double>(*key.workspace_cap))
                              : "any workspace";
  return fmt::format("{} {}, {} thread{}, {} cache, {}, {}", name(key.problem.math), name(key.problem.layout),
                     key.threads, key.threads == 1 ? "" : "s", name(key.cache), cap,
                     device_text(key, device));
}

}  // namespace convscope
