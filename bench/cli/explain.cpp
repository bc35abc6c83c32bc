// The verb itself; what it finds out and prints is in explanation.cpp.
#include "bench/cli/explain.hpp"

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/measure/ceilings.hpp"

namespace convscope {

void explain(std::ostream& out, const ExplainOptions& options, const Registry& registry) {
  const ConvProblem problem = parse_problem(options.problem);
  CpuDevice device;
  const int threads = options.threads == 0 ? device.info().cores : options.threads;
  device.set_threads(threads);
  print_explanation(out, problem, options, registry, device, measure_ceilings(device, threads));
}

}  // namespace convscope
