// The command line: finds the verb and its flags in argv, runs the verb, and turns what it throws into a
// message and an exit code. What each verb reads and does is in its own file (verbs.hpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cli/verbs.hpp"

namespace convscope {

// The verb with its flags, ready to be run; of --help and --version the text to print. Runs nothing and reads
// no file. Throws UsageError with one sentence; for an unknown verb or flag it names the nearest known one.
std::function<int(const Program&)> parse_command(const std::vector<std::string>& argv);

// The program. Returns the exit code. A test gives other algorithms and, for workers, another device.
int convscope_main(int argc, char** argv, const Registry& registry, const DeviceMaker& maker = make_device);

}  // namespace convscope
