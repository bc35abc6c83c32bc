// A library that is looked for at run time: the CUDA libraries and NVML, which a build machine or a bundle
// need not have.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace convscope::cuda {

class SharedLibrary {
 public:
  // Loads the first of `names` that is found: by the system's loader, in the folders of the CUDA toolkit
  // (/usr/local/cuda/lib64), and in `wheel_folder` ("cublas") of NVIDIA's Python packages, below the folders
  // where Python installations keep them. An empty `wheel_folder` leaves those out.
  SharedLibrary(std::initializer_list<const char*> names, const std::string& wheel_folder);
  SharedLibrary(SharedLibrary&&) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) noexcept;
  ~SharedLibrary();

  // Why it could not be loaded: what was looked for and where; empty when it was.
  const std::string& defect() const { return defect_; }

  // A function of it; null where it has none of that name or was not loaded.
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* library_ = nullptr;
  std::string defect_;
};

// Folders in which NVIDIA's Python packages have their libraries: PREFIX/lib/python3.*/site-packages (or
// dist-packages)/nvidia/<package>/lib of the given prefixes, and of CUDA 13 /nvidia/cu13/lib. Newest first.
std::vector<std::string> wheel_folders(const std::vector<std::string>& prefixes, const std::string& package);

}  // namespace convscope::cuda
