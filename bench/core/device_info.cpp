#include "bench/core/device_info.hpp"

#include <charconv>
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

}  // namespace convscope
