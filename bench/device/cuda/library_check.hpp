// What the CUDA libraries have in common: how it is said that the one found is not the one needed, and what a
// failed call of theirs may mean.
#pragma once

#include <span>
#include <string>

#include "bench/device/cuda/shared_library.hpp"

namespace convscope::cuda {

// What is needed of a library, and how it tells its version: `property` is its function of the form of
// cublasGetProperty.
struct LibraryNeeds {
  const char* name;      // "cuBLAS"
  const char* versions;  // "cuBLAS 12 or 13"
  const char* property;
  std::span<const char* const> functions;
};

// Why the library cannot be used: it was not found, or what was found lacks a function, and then with its
// version and the one needed. Empty where it can.
std::string defect(const SharedLibrary& library, const LibraryNeeds& needs);

// For a call of a library that failed, whose message this is: throws DeviceLost with it where the device is
// lost, of which the library's own status says nothing.
void check_device_after(const std::string& message);

}  // namespace convscope::cuda
