// What other programs use of the devices on which something is to be measured.
#pragma once

#include <set>
#include <string>

#include "bench/core/device_info.hpp"

namespace convscope {

// How long the CPU is looked at.
inline constexpr double kLookSeconds = 0.25;

// "other programs use this machine: cc1plus (pid 7) 98% of a core; other programs use cuda for 60% of the
// time: python (pid 4242) 60%"; "" where the devices are quiet, or nobody counts. Takes kLookSeconds for the
// CPU, up to 2 s for a GPU in use, which this process must not use yet.
std::string other_loads(const std::set<DeviceId>& devices);

}  // namespace convscope
