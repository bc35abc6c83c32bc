// Registers the variants of this folder, for the CPU and for CUDA. Start at README.md and plain.hpp.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

void add_direct(Registry& registry);

}  // namespace convscope
