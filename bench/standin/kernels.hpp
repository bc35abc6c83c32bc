// The kernels that the program registered, by the address of their host function: those of nvcc with their
// PTX, and those that the host's compiler made for the emulator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/ptx/kernel.hpp"

namespace convscope::standin {

void register_binary(const void* wrapper);
void register_kernel(const void* host_function, const char* name);

// The only argument in a launch of a kernel of the host's compiler.
struct HostLaunch {
  std::vector<const void*> pointers;  // each is null or live device memory when the kernel begins
  std::function<std::string()> run;   // computes the grid; returns what went wrong, or an empty string
  // It spins until the host releases it: other kernels run at the same time, and it ends by the host's clock.
  bool waits_for_host = false;
};
// May be called again for the same function.
void register_host_kernel(const void* host_function, const std::string& name);
bool is_host_kernel(const void* host_function);

// The name of a registered kernel, of nvcc's mangled; null where there is none.
const std::string* kernel_name(const void* host_function);

// Parsed at the first call. Throws std::exception where the program has no PTX of it for the configured
// target, or one that the interpreter does not know.
const ptx::Kernel& parsed_kernel(const std::string& name);

}  // namespace convscope::standin
