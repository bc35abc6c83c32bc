// The verb itself; what it prints is in info_text.cpp.
#include "bench/cli/info.hpp"

#include "bench/measure/ceilings.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {

void info(std::ostream& out, const InfoOptions& options, const Registry& registry) {
  const std::vector<DeviceInfo> devices = find_devices().present;
  const auto environment = describe_environment(devices, registry);
  std::vector<Ceilings> ceilings;
  for (const DeviceInfo& info : devices) {
    if (info.kind == DeviceKind::emulator) continue;
    const auto device = make_device(info.id(), {});
    for (int threads : info.kind == DeviceKind::cpu ? ceiling_thread_counts(info.cores) : std::vector{1})
      ceilings.push_back(measure_ceilings(*device, threads));
  }
  print_info(out, environment, ceilings, options);
}

}  // namespace convscope
