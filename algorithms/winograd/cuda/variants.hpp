// The CUDA variants of this folder and the plans behind them; a plan of each kind exists for the GPU (where
// the build has CUDA) and for the emulator. fused: F(2x2, 3x3) and F(4x4, 3x3), forward and backward-data.
#pragma once

#include <memory>

#include "algorithms/winograd/geometry.hpp"
#include "bench/algorithm/registry.hpp"
#include "bench/device/builds.hpp"

namespace convscope {

// After add_winograd's CPU variants, which say what the CUDA variants of the same tiles support.
void add_winograd_cuda(Registry& registry);

CONVSCOPE_IN_BOTH(std::unique_ptr<Plan> make_nonfused_plan(const winograd::Geometry& geometry,
                                                           const DeviceInfo& device,
                                                           const PlanOptions& options);
                  std::unique_ptr<Plan> make_fused_plan(const winograd::Geometry& geometry);)

}  // namespace convscope
