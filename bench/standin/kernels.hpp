// The kernels that the program registered, by the address of their host function, and their PTX.
#pragma once

#include <string>

#include "bench/ptx/kernel.hpp"

namespace convscope::standin {

void register_binary(const void* wrapper);
void register_kernel(const void* host_function, const char* name);

// The name of a registered kernel, mangled; null where there is none.
const std::string* kernel_name(const void* host_function);

// Parsed at the first call. Throws std::exception where the program has no PTX of it for the configured
// target, or one that the interpreter does not know.
const ptx::Kernel& parsed_kernel(const std::string& name);

}  // namespace convscope::standin
