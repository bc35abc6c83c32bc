// The PTX that nvcc put into a program, from the fat binaries that the program registers with the runtime.
#pragma once

#include <string>
#include <vector>

namespace convscope::standin {

// The PTX texts of one fat binary for a compute capability (80, 90). `wrapper`: what __cudaRegisterFatBinary
// is given. Throws std::runtime_error for a format that is not known.
std::vector<std::string> ptx_of(const void* wrapper, unsigned capability);

}  // namespace convscope::standin
