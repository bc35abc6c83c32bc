#include "bench/ranking/standing.hpp"

#include <string_view>

namespace convscope {
namespace {

// The end of the name of a device whose clock is simulated: bench/standin.
constexpr std::string_view kVirtualTime = "(virtual time)";

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
      if (record.health.throttled) return Standing::throttled;
      return record.device.name.ends_with(kVirtualTime) ? Standing::virtual_time : Standing::good;
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
  return record.health.throttled;
}

bool ranks_before(const ResultRecord* a, const ResultRecord* b) {
  if (is_suspect(*a) != is_suspect(*b)) return is_suspect(*b);
  if (median_seconds(*a) != median_seconds(*b)) return median_seconds(*a) < median_seconds(*b);
  return a->key.algorithm < b->key.algorithm;
}

bool is_in_doubt(const ResultRecord& a, const ResultRecord& b) {
  const Statistics &x = a.time->full.statistics, &y = b.time->full.statistics;
  return is_suspect(a) == is_suspect(b) && x.ci_low <= y.ci_high && y.ci_low <= x.ci_high;
}

bool is_library(const ResultRecord& record) {
  const std::string_view id = record.key.algorithm;
  return id.substr(0, id.find('.')) == record.algorithm.provider;
}

}  // namespace convscope
