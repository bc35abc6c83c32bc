#include "bench/record/result.hpp"

#include <utility>

#include "bench/core/names.hpp"

namespace convscope {

std::string_view name(Outcome outcome) {
  constexpr std::string_view names[] = {"measured",       "verified_only", "unsupported",
                                        "over_workspace", "out_of_memory", "wrong",
                                        "timeout",        "crashed",       "failed"};
  return names[static_cast<size_t>(outcome)];
}

std::string_view name(CacheState state) {
  constexpr std::string_view names[] = {"cold", "hot", "weights-cold"};
  return names[static_cast<size_t>(state)];
}

std::string_view name(Standing standing) {
  constexpr std::string_view names[] = {"good",         "virtual_time", "throttled", "repeat", "wrong",
                                        "wrong_repeat", "untimed",      "refused",   "failed"};
  return names[static_cast<size_t>(standing)];
}

std::optional<CacheState> cache_state_from_name(std::string_view text) {
  return from_name(kCacheStates, text);
}

Outcome outcome_of(Reason reason, bool is_timed) {
  switch (reason) {
    case Reason::none:
      return is_timed ? Outcome::measured : Outcome::verified_only;
    case Reason::throttled:
      return Outcome::measured;
    case Reason::unsupported_pass:
    case Reason::unsupported_math:
    case Reason::unsupported_layout:
    case Reason::unsupported_filter:
    case Reason::unsupported_stride:
    case Reason::unsupported_dilation:
    case Reason::unsupported_groups:
    case Reason::unsupported_size:
    case Reason::library_missing:
    case Reason::library_refused:
    case Reason::device_missing:
    case Reason::left_out_after_failures:
      return Outcome::unsupported;
    case Reason::workspace_over_cap:
      return Outcome::over_workspace;
    case Reason::out_of_memory:
      return Outcome::out_of_memory;
    case Reason::accuracy:
      return Outcome::wrong;
    case Reason::timeout:
      return Outcome::timeout;
    case Reason::crashed:
      return Outcome::crashed;
    case Reason::failed:
      return Outcome::failed;
  }
  return Outcome::failed;
}

void settle(ResultRecord& record, Reason reason, std::string note) {
  record.outcome = outcome_of(reason, record.time.has_value());
  record.reason = reason;
  record.note = std::move(note);
}

}  // namespace convscope
