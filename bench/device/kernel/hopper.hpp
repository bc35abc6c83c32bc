// Device functions of sm_90a for .cu files: mbarriers, TMA loads, wgmma, named barriers.
// Write the kernel's body as `if constexpr (kHopperInstructions) { ... }`: it is then empty for other
// architectures, whose code the launching side must never choose.
//
// The usual kernel: one producer warp waits for `empty` barriers, announces bytes at `full` barriers and
// issues TMA loads; consumer warpgroups wait for `full`, multiply with wgmma and arrive at `empty`.
#pragma once

#include "bench/device/kernel/kernel.hpp"

#if defined(__CUDACC__)
#include "bench/device/cuda/hopper_intrinsics.cuh"
#include "bench/device/cuda/wgmma.cuh"
#else
#include "bench/emulator/hopper_intrinsics.hpp"
#include "bench/emulator/wgmma.hpp"
#endif
