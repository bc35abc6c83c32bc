// What the schedules of all CUDA variants count on. Constants, not the device's figures, so that the same
// problem is computed in the same way on every device.
#pragma once

#include <cstdint>

namespace convscope {

inline constexpr int64_t kMultiprocessors = 132;  // of an H100 SXM and an H200
inline constexpr int64_t kMaxGridYz = 65535;      // blocks of a launch in y, and in z

}  // namespace convscope
