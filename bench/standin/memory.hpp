// Device memory and pinned host memory as pages of the process. What is freed stays mapped without any access
// for a while, so that later accesses are detected.
#pragma once

#include <cstddef>
#include <string>

#include "bench/ptx/run.hpp"

namespace convscope::standin {

size_t used_bytes(int device);

// The live allocation around an address that a device may use, empty when there is none.
ptx::Range allocation_around(int device, ptx::u64 address);
// Describes an address in no such allocation, for messages.
std::string describe_address(int device, ptx::u64 address);

}  // namespace convscope::standin
