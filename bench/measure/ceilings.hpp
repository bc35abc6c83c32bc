// A device's measured ceilings: FP32 multiply-add rate, copy, read and cache bandwidth, of a CPU per thread
// count; those of a GPU come from bench/device/cuda. Measured with the same threads as the candidates;
// nothing comes from a data sheet.
#pragma once

#include "bench/device/device.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// Takes about 1.2 s. Leaves a CPU at `threads` threads, which other devices take no notice of. An
// emulator has none: its rates mean nothing. Throws DeviceError.
Ceilings measure_ceilings(Device& device, int threads);

// Keeps the multiply-add units of a GPU or of every OpenMP thread busy for `seconds`, to bring idle ones to
// their clock.
void burn_in(Device& device, double seconds);

}  // namespace convscope
