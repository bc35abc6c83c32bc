#include "bench/record/result.hpp"

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

}  // namespace convscope
