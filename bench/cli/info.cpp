// The verb itself; what it prints is in info_text.cpp.
#include "bench/cli/info.hpp"

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {

void info(std::ostream& out, const InfoOptions& options, const Registry& registry) {
  CpuDevice device;
  const auto environment = describe_environment(device.info(), registry);
  std::vector<Ceilings> ceilings;
  for (int threads : ceiling_thread_counts(device.info().cores))
    ceilings.push_back(measure_ceilings(device, threads));
  print_info(out, environment, ceilings, options);
}

}  // namespace convscope
