// The plan of both CUDA variants: im2col, products and col2im, chunk after chunk. Our SGEMM or a library
// computes the products. Each function exists once for the GPU and once for the emulator.
#pragma once

#include <memory>

#include "bench/algorithm/algorithm.hpp"
#include "bench/device/builds.hpp"

namespace convscope {
CONVSCOPE_IN_BOTH(std::unique_ptr<Plan> make_own_sgemm_plan(const ConvProblem&, Device&, const PlanOptions&);
                  std::unique_ptr<Plan> make_library_sgemm_plan(const ConvProblem&, Device&,
                                                                const PlanOptions&);)
}  // namespace convscope
