// The machine's measured ceilings: FP32 multiply-add rate, copy, read and cache bandwidth, per thread count.
// Measured with the same threads as the candidates; nothing comes from a data sheet.
#pragma once

#include "bench/core/result.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {

// Takes about half a second. Leaves the device at `threads` threads.
Ceilings measure_ceilings(CpuDevice& device, int threads);

// Keeps every OpenMP thread's multiply-add units busy for `seconds`, to bring idle cores to their clock.
void burn_in(double seconds);

}  // namespace convscope
