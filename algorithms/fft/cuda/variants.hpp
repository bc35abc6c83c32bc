// The variants fft16.cuda, fft32.cuda and fft.full.cuda, and the plans behind them: each in two namespaces,
// for the GPU (where the build has CUDA) and for the emulator. Start at variants.cpp.
#pragma once

#include <memory>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/registry.hpp"

namespace convscope {

void add_fft_cuda(Registry& registry);

namespace cuda {
std::unique_ptr<Plan> make_tiled_fft_plan(const ConvProblem&, int size, Device&, const PlanOptions&);
std::unique_ptr<Plan> make_full_fft_plan(const ConvProblem&, Device&, const PlanOptions&);
}  // namespace cuda
namespace emulated {
std::unique_ptr<Plan> make_tiled_fft_plan(const ConvProblem&, int size, Device&, const PlanOptions&);
std::unique_ptr<Plan> make_full_fft_plan(const ConvProblem&, Device&, const PlanOptions&);
}  // namespace emulated

}  // namespace convscope
