#include "bench/device/cuda/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace convscope::cuda {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable), end; !unreadable && entry != end;
       entry.increment(unreadable))
    found.push_back(entry->path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

// Where Python and its virtual environments are usually installed: the system's, conda's, and beside or below
// the running program and the folder it was started in.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes{"/usr/local", "/usr", "/opt/conda", "/opt/venv"};
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const fs::path& base : {fs::current_path(unknown), program, program.parent_path()}) {
    prefixes.push_back((base / ".venv").string());
    prefixes.push_back((base / "venv").string());
  }
  return prefixes;
}

}  // namespace

std::vector<std::string> wheel_folders(const std::vector<std::string>& prefixes, const std::string& package) {
  std::vector<std::string> folders;
  for (const std::string& prefix : prefixes)
    for (const fs::path& python : entries(fs::path(prefix) / "lib")) {
      if (!python.filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const std::string& owner : {std::string("cu13"), package}) {
          const fs::path folder = python / packages / "nvidia" / owner / "lib";
          if (std::error_code none; fs::is_directory(folder, none)) folders.push_back(folder.string());
        }
    }
  return folders;
}

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names, const std::string& wheel_folder) {
  std::vector<std::string> folders{"", "/usr/local/cuda/lib64"};
  if (!wheel_folder.empty()) {
    const auto wheels = wheel_folders(python_prefixes(), wheel_folder);
    folders.insert(folders.end(), wheels.begin(), wheels.end());
  }
  std::string first_words;
  for (const std::string& folder : folders)
    for (const char* name : names) {
      library_ = dlopen((folder.empty() ? name : folder + "/" + name).c_str(),
                        RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
      if (library_ != nullptr) return;
      const char* words = dlerror();
      if (first_words.empty() && words != nullptr) first_words = words;
    }
  folders.front() = "the loader's own folders";
  defect_ = fmt::format("{} was not found in {} ({})", fmt::join(names, " or "), fmt::join(folders, ", "),
                        first_words);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)), defect_(std::move(other.defect_)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(defect_, other.defect_);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (library_ != nullptr) dlclose(library_);
}

void* SharedLibrary::symbol(const char* name) const {
  return library_ == nullptr ? nullptr : dlsym(library_, name);
}

}  // namespace convscope::cuda
