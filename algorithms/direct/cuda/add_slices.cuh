// Adds the partial sums of the slices of a filter gradient in a fixed order, so that two runs agree bit for
// bit.
#pragma once

#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {

// dw[i] = the sum over slices of sums[slice * elements + i].
void add_filter_slices(const float* sums, float* dw, int64_t elements, int slices, Queue& queue);

}  // namespace convscope::CONVSCOPE_KERNELS
