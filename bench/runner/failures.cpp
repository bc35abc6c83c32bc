#include "bench/runner/failures.hpp"

#include <fmt/format.h>

namespace convscope {
namespace {

std::string failure_text(const ResultRecord& record) {
  const CaseKey& key = record.key;
  return fmt::format("{} in {} {} {} {} batch {} on {}: {}", name(record.outcome), key.layer,
                     name(key.problem.pass), name(key.problem.math), name(key.problem.layout),
                     key.problem.batch, name(key.device_id()), record.note);
}

}  // namespace

bool counts_as_failure(const ResultRecord& record) {
  return record.outcome == Outcome::timeout ||
         (record.outcome == Outcome::crashed && record.reason != Reason::out_of_memory);
}

std::optional<std::string> why_left_out(std::span<const ResultRecord> records, const std::string& algorithm,
                                        DeviceKind device) {
  int failures = 0;
  std::string how;
  for (const ResultRecord& record : records) {
    if (record.key.algorithm != algorithm || record.key.device != device || !counts_as_failure(record))
      continue;
    ++failures;
    if (failures <= kFailuresBeforeLeftOut) how += (how.empty() ? "" : "; ") + failure_text(record);
  }
  if (failures < kFailuresBeforeLeftOut) return std::nullopt;
  return fmt::format("left out of the rest of the run after {} failures: {}", kFailuresBeforeLeftOut, how);
}

}  // namespace convscope
