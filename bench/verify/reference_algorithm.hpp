// The definition as algorithms, `reference.cpu` and `reference.cuda`, for `exec` and `verify`; never
// candidates. The arithmetic is in reference.hpp and device_reference.cu.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

// Adds `reference.cpu`: every pass, layout and math mode; f64 sums of the tensors as they are stored.
void add_reference(Registry& registry);

// Adds `reference.cuda`: the same on a GPU, for tensors stored in FP32.
void add_device_reference(Registry& registry);

}  // namespace convscope
