#include "bench/algorithm/algorithm.hpp"

#include <fmt/format.h>

#include "bench/core/counted.hpp"

namespace convscope {

std::string over_cap_text(int64_t needed, int64_t cap) {
  return fmt::format("it needs {} of workspace, more than the cap of {} ({} and {} bytes)",
                     bytes_text(needed), bytes_text(cap), needed, cap);
}

std::unique_ptr<Plan> plan_within_cap(const Algorithm& algorithm, const ConvProblem& problem, Device& device,
                                      const PlanOptions& options) {
  auto plan = algorithm.plan(problem, device, options);
  if (plan->workspace_bytes() > options.workspace_cap)
    throw Refused(Reason::workspace_over_cap, over_cap_text(plan->workspace_bytes(), options.workspace_cap));
  return plan;
}

}  // namespace convscope
