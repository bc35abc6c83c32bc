// The algorithm that a flag names.
#pragma once

#include <string>

#include "bench/algorithm/registry.hpp"

namespace convscope {

// Throws UsageError when there is none of this id, with the nearest one there is.
const Algorithm& find_algorithm(const Registry& registry, const std::string& id);

}  // namespace convscope
