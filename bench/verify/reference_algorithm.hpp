// The reference as an Algorithm, `reference.cpu`, for `exec` and `verify`; never a candidate. The arithmetic
// is in reference.hpp.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

// Adds `reference.cuda`: the same on a GPU (device_reference.hpp), for tensors stored in FP32.
void add_device_reference(Registry& registry);

// Adds `reference.cpu`: every pass and layout, FP32, f64 sums.
void add_reference(Registry& registry);

}  // namespace convscope
