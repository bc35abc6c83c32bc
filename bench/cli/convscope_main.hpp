// The program: one verb of the command line, and what it throws as a message and an exit code. Apart from
// main.cpp so that a test can have the same program with other algorithms in it.
#pragma once

#include "bench/algorithm/registry.hpp"

namespace convscope {

// Returns the exit code.
int convscope_main(int argc, char** argv, const Registry& registry);

}  // namespace convscope
