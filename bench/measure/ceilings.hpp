// A device's measured ceilings: FP32 multiply-add rate, copy, read and cache bandwidth, of a CPU per thread
// count; those of a GPU come from bench/device/cuda. Measured with the same threads as the candidates, on
// random values; nothing comes from a data sheet.
#pragma once

#include <cstdint>

#include "bench/device/device.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// Takes about 1.2 s. Leaves a CPU at `threads` threads, which other devices take no notice of. An
// emulator has none: its rates mean nothing. Throws DeviceError.
Ceilings measure_ceilings(Device& device, int threads);

// Keeps the multiply-add units of a GPU or of every OpenMP thread busy for `seconds`, to bring idle ones to
// their clock.
void burn_in(Device& device, double seconds);
inline constexpr double kBurnInSeconds = 0.2;

// --- The loops behind the ceilings, vectorised for the machine at hand (ceiling_kernels.cpp) ---

// `rounds`, an even number, times 12 independent chains of one vector multiply-add each. Returns a value that
// depends on all of it.
float multiply_add_chains(int64_t rounds);
// FP32 operations of one round, 2 per multiply-add.
int64_t operations_per_round();

// Reads all of `values`; the sum is returned so that it is done. `count` is a multiple of 1024.
float read_all(const float* values, int64_t count);

// Keeps a result alive without a data race on a common place.
inline void keep(float value) {
  asm volatile("" : : "r"(value));
}

}  // namespace convscope
