// The verb itself; what it finds out and prints is in explanation.cpp.
#include "bench/cli/explain.hpp"

#include <memory>
#include <vector>

#include "bench/measure/ceilings.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

// The one asked for, or the CPU and whatever runs CUDA's algorithms here.
std::vector<DeviceId> explained_devices(const ExplainOptions& options) {
  if (options.device) return {*options.device};
  const bool has_gpu = find_devices().missing.empty();
  return {DeviceKind::cpu, has_gpu ? DeviceKind::cuda : DeviceKind::emulator};
}

}  // namespace

void explain(std::ostream& out, const ExplainOptions& options, const Registry& registry) {
  const ConvProblem problem = parse_problem(options.problem);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<ExplainedDevice> explained;
  for (DeviceId id : explained_devices(options)) {
    const bool all_cores = id.kind == DeviceKind::cpu && options.threads == 0;
    const int threads = all_cores ? describe_device(id).cores : options.threads;
    devices.push_back(make_device(id, {.threads = threads}));
    explained.push_back({*devices.back(), measure_ceilings(*devices.back(), threads)});
  }
  print_explanation(out, problem, options, registry, explained);
}

}  // namespace convscope
