// The variants of NVIDIA's cuDNN: each of its algorithms forced, each of its engines, and each way of letting
// it choose. See README.md.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

void add_cudnn(Registry& registry);

}  // namespace convscope
