// The program: one verb of the command line, and what it throws as a message and an exit code. Apart from
// main.cpp so that a test can have the same program with other algorithms in it.
#pragma once

#include "bench/algorithm/registry.hpp"
#include "bench/runner/worker.hpp"

namespace convscope {

// Returns the exit code. Workers make their device with `maker`.
int convscope_main(int argc, char** argv, const Registry& registry, const DeviceMaker& maker = make_device);

}  // namespace convscope
