#include "bench/core/result.hpp"

#include "bench/core/names.hpp"

namespace convscope {

std::string_view name(DeviceKind kind) {
  constexpr std::string_view names[] = {"cpu", "cuda", "emulator"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name(Outcome outcome) {
  constexpr std::string_view names[] = {"measured",       "verified_only", "unsupported",
                                        "over_workspace", "out_of_memory", "wrong",
                                        "timeout",        "crashed",       "failed"};
  return names[static_cast<size_t>(outcome)];
}

std::string_view name(Reason reason) {
  constexpr std::string_view names[] = {"none",
                                        "unsupported_pass",
                                        "unsupported_math",
                                        "unsupported_layout",
                                        "unsupported_filter",
                                        "unsupported_stride",
                                        "unsupported_dilation",
                                        "unsupported_groups",
                                        "unsupported_size",
                                        "library_missing",
                                        "library_refused",
                                        "device_missing",
                                        "workspace_over_cap",
                                        "out_of_memory",
                                        "accuracy",
                                        "timeout",
                                        "crashed",
                                        "throttled",
                                        "failed"};
  return names[static_cast<size_t>(reason)];
}

std::string_view name(CacheState state) {
  constexpr std::string_view names[] = {"cold", "hot", "weights-cold"};
  return names[static_cast<size_t>(state)];
}

std::string_view name(Phase phase) {
  constexpr std::string_view names[] = {"prepare", "layout", "transform", "product", "inverse"};
  return names[static_cast<size_t>(phase)];
}

std::optional<DeviceKind> device_kind_from_name(std::string_view text) {
  return from_name(kDeviceKinds, text);
}
std::optional<CacheState> cache_state_from_name(std::string_view text) {
  return from_name(kCacheStates, text);
}

}  // namespace convscope
