// A library that is looked for at run time: the CUDA libraries and NVML, which a build machine or a bundle
// need not have. It stays loaded until the process ends.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

namespace convscope::cuda {

class SharedLibrary {
 public:
  // Loads the first of `names` that is found: by the system's loader, in the CUDA toolkit
  // (/usr/local/cuda/lib64), and in `wheel_folder` ("cublas") of NVIDIA's Python packages or the lib folder
  // of the Python environments at hand (library_folders.hpp). An empty `wheel_folder` leaves Python out.
  SharedLibrary(std::initializer_list<const char*> names, const std::string& wheel_folder);

  // Why it could not be loaded: what was looked for and where, or what it lacks itself; empty when it was.
  const std::string& defect() const { return defect_; }

  // A function of it; null where it has none of that name or was not loaded.
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  std::string load(const char* file);  // "", or the loader's words where it cannot
  void* symbol(const char* name) const;

  void* library_ = nullptr;
  std::string defect_;
};

// --- What the CUDA libraries have in common: how it is said that the one found is not the one needed, and
// what a failed call of theirs may mean ---

// What is needed of a library, and how it tells its version: `property` is its function of the form of
// cublasGetProperty, or of a library without one `version` asks another; "" where it does not tell.
struct LibraryNeeds {
  const char* name;      // "cuBLAS"
  const char* versions;  // "cuBLAS 12 or 13"
  const char* property = nullptr;
  std::span<const char* const> functions;
  std::string (*version)(const SharedLibrary&) = nullptr;
};

// Why the library cannot be used: it was not found, or what was found lacks a function, and then with its
// version and the one needed. Empty where it can.
std::string defect(const SharedLibrary& library, const LibraryNeeds& needs);

// For a call of a library that failed, whose message this is: throws DeviceLost with it where the device is
// lost, of which the library's own status says nothing.
void check_device_after(const std::string& message);

}  // namespace convscope::cuda
