// Which GPU code a device runs.
#pragma once

#include <cstdio>
#include <limits>

#include "bench/core/device_info.hpp"

namespace convscope {

// The compute capability times 10, as in "sm_90"; the emulator has no limits.
inline int compute_capability(const DeviceInfo& device) {
  int number = std::numeric_limits<int>::max();
  if (device.kind == DeviceKind::cuda) std::sscanf(device.instructions.c_str(), "sm_%d", &number);
  return number;
}

// Whether this program has code for sm_90a: CMake's CONVSCOPE_CUDA_ARCHITECTURES may leave it out.
#if defined(CONVSCOPE_WITHOUT_SM_90A)
inline constexpr bool kHasSm90a = false;
#else
inline constexpr bool kHasSm90a = true;
#endif

// Whether kernels of sm_90a, with TMA and wgmma, run there: on no other GPU, and on the emulator. Compiled
// for another architecture they are empty.
inline bool runs_sm_90a(const DeviceInfo& device, bool has_code = kHasSm90a) {
  return device.kind != DeviceKind::cuda || (has_code && compute_capability(device) == 90);
}

}  // namespace convscope
