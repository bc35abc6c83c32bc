// The generated list of every algorithm folder: catalog.cpp is written by CMake into the build folder.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

void register_all(Registry& registry);

}  // namespace convscope
