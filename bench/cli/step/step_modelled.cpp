// step_modelled.cpp: `step --basis modelled`, whose communication is by closed form or simulated.
#include <memory>

#include "bench/cli/step/step.hpp"

namespace convscope {

void check_modelled(const CLI::App& verb, const StepOptions& options) {
  refuse_flags_of("measured or replayed step", {"--time-limit"}, verb);
  read_counts("--gpus", options.parallel.gpus);
  check_kept(verb, options);
  read_network(options.parallel);
}

int model_steps(const StepOptions& options, const Program& program) {
  const std::unique_ptr<NetworkModel> network = read_network(options.parallel);
  const auto gpus = read_counts("--gpus", options.parallel.gpus);
  return report_steps(options, program, rows_from_kept(options, *network, gpus));
}

}  // namespace convscope
