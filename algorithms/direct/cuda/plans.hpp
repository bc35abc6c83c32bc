// The plans of the CUDA variants, once for the GPU and once for the emulator, which runs the same sources.
// Variants and refusals: variants.cpp; how a problem is cut: geometry.hpp. In the kernels n c h w is the
// input, k r s the filter, p q the output and u v a written pixel of one residue.
#pragma once

#include <memory>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/registry.hpp"
#include "bench/device/builds.hpp"

namespace convscope::direct {

// Registers direct.tiled.cuda, direct.chwn.cuda and direct.depthwise.cuda.
void add_direct_cuda(Registry& registry);

}  // namespace convscope::direct

namespace convscope {
CONVSCOPE_IN_BOTH(std::unique_ptr<Plan> make_tiled_plan(const ConvProblem&, const PlanOptions&);
                  std::unique_ptr<Plan> make_chwn_plan(const ConvProblem&, const PlanOptions&);
                  std::unique_ptr<Plan> make_gradient_plan(const ConvProblem&, const PlanOptions&);
                  std::unique_ptr<Plan> make_depthwise_plan(const ConvProblem&, const PlanOptions&);
                  std::unique_ptr<Plan> make_depthwise_gradient_plan(const ConvProblem&, const PlanOptions&);)
}  // namespace convscope
