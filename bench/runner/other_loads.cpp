#include "bench/runner/other_loads.hpp"

#include <fmt/format.h>

#include <vector>

#include "bench/measure/other_programs.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

constexpr double kQuietShare = 0.05;  // of a GPU's time

std::string load_of_cpu() {
  const std::vector<BusyProgram> programs = busy_programs(kLookSeconds);
  return is_quiet(programs) ? "" : "other programs use this machine: " + text(programs);
}

std::string load_of(DeviceId device) {
  if (device.kind == DeviceKind::cpu) return load_of_cpu();
  const auto others = others_on(device);
  if (!others || others->share <= kQuietShare) return "";
  return fmt::format("other programs use {} for {}", name(device), others->text());
}

}  // namespace

std::string other_loads(const std::set<DeviceId>& devices) {
  std::string loads;
  for (const DeviceId device : devices)
    if (const std::string load = load_of(device); !load.empty()) loads += (loads.empty() ? "" : "; ") + load;
  return loads;
}

}  // namespace convscope
