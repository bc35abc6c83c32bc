// The entry points of this folder; see README.md.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

void add_implicit_gemm(Registry& registry);

}  // namespace convscope
