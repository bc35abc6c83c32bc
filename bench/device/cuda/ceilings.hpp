// The part of the ceilings of a GPU that needs Hopper's instructions; the rest is in ceilings.cu.
#pragma once

#include "bench/core/device_info.hpp"
#include "bench/device/device.hpp"

namespace convscope::cuda {

// On sm_90 the tensor cores reach their full rate with wgmma only: measures it and raises the rates in
// `ceilings` to it. Does nothing on other devices, nor in a program without code for sm_90a.
void raise_to_wgmma_rates(Device& device, Queue& queue, Ceilings& ceilings);

}  // namespace convscope::cuda
