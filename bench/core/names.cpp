#include "bench/core/names.hpp"

#include <charconv>
#include <system_error>

#include "bench/core/algorithm_info.hpp"
#include "bench/core/device_info.hpp"
#include "bench/core/problem.hpp"

namespace convscope {

std::string_view name(Pass pass) {
  constexpr std::string_view names[] = {"forward", "backward_data", "backward_filter"};
  return names[static_cast<size_t>(pass)];
}

std::string_view name(MathMode math) {
  constexpr std::string_view names[] = {"fp32", "tf32", "3xtf32", "bf16", "fp16"};
  return names[static_cast<size_t>(math)];
}

std::string_view name(Layout layout) {
  constexpr std::string_view names[] = {"nchw", "nhwc", "chwn"};
  return names[static_cast<size_t>(layout)];
}

std::string_view name(Epilogue epilogue) {
  constexpr std::string_view names[] = {"none", "relu", "bias", "bias+relu"};
  return names[static_cast<size_t>(epilogue)];
}

std::string_view name(Role role) {
  constexpr std::string_view names[] = {"input", "filter", "output"};
  return names[static_cast<size_t>(role)];
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
                                        "unsupported_epilogue",
                                        "library_missing",
                                        "library_refused",
                                        "device_missing",
                                        "workspace_over_cap",
                                        "out_of_memory",
                                        "accuracy",
                                        "timeout",
                                        "crashed",
                                        "throttled",
                                        "disturbed",
                                        "failed",
                                        "left_out_after_failures"};
  return names[static_cast<size_t>(reason)];
}

std::string_view name(DeviceKind kind) {
  return kDeviceKindNames[static_cast<size_t>(kind)];
}

std::string name(DeviceId device) {
  const std::string kind(name(device.kind));
  return device.index == 0 ? kind : kind + ":" + std::to_string(device.index);
}

std::string_view name(Phase phase) {
  constexpr std::string_view names[] = {"prepare", "layout", "transform", "product", "inverse"};
  return names[static_cast<size_t>(phase)];
}

std::optional<DeviceId> device_from_name(std::string_view text) {
  const size_t colon = text.find(':');
  const auto kind = from_name(kDeviceKinds, text.substr(0, colon));
  if (!kind || colon == std::string_view::npos) return kind;
  const std::string_view digits = text.substr(colon + 1);
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && index >= 0;
  if (!is_number || *kind != DeviceKind::cuda) return std::nullopt;
  return DeviceId(*kind, index);
}

}  // namespace convscope
