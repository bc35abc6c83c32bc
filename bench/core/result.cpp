#include "bench/core/result.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "bench/core/names.hpp"

namespace convscope {

std::string_view name(DeviceKind kind) {
  constexpr std::string_view names[] = {"cpu", "cuda", "emulator"};
  return names[static_cast<size_t>(kind)];
}

std::string name(DeviceId device) {
  const std::string kind(name(device.kind));
  return device.index == 0 ? kind : kind + ":" + std::to_string(device.index);
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
                                        "failed",
                                        "left_out_after_failures"};
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
std::optional<DeviceId> device_from_name(std::string_view text) {
  const size_t colon = text.find(':');
  const auto kind = device_kind_from_name(text.substr(0, colon));
  if (!kind || colon == std::string_view::npos) return kind;
  const std::string_view digits = text.substr(colon + 1);
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && index >= 0;
  if (!is_number || *kind != DeviceKind::cuda) return std::nullopt;
  return DeviceId(*kind, index);
}
std::optional<CacheState> cache_state_from_name(std::string_view text) {
  return from_name(kCacheStates, text);
}

}  // namespace convscope
