// The plan of both CUDA rows: im2col, products and col2im, a chunk after the other. The products are done by
// our SGEMM or by a library. Each function exists once for the GPU and once for the emulator.
#pragma once

#include <memory>

#include "bench/algorithm/algorithm.hpp"

namespace convscope::cuda {
std::unique_ptr<Plan> make_own_sgemm_plan(const ConvProblem&, Device&, const PlanOptions&);
std::unique_ptr<Plan> make_library_sgemm_plan(const ConvProblem&, Device&, const PlanOptions&);
}  // namespace convscope::cuda

namespace convscope::emulated {
std::unique_ptr<Plan> make_own_sgemm_plan(const ConvProblem&, Device&, const PlanOptions&);
std::unique_ptr<Plan> make_library_sgemm_plan(const ConvProblem&, Device&, const PlanOptions&);
}  // namespace convscope::emulated
