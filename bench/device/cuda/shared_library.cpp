#include "bench/device/cuda/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/library_folders.hpp"

namespace convscope::cuda {
namespace {

constexpr const char* kToolkit = "/usr/local/cuda/lib64";

std::string version_by_property(const SharedLibrary& library, const char* property) {
  const auto ask = library.function<int(int kind, int* value)>(property);
  int numbers[3] = {};
  for (int kind = 0; kind < 3; ++kind)
    if (ask == nullptr || ask(kind, &numbers[kind]) != 0) return "";
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

// "13.1.0", or words where the library does not tell.
std::string version_of(const SharedLibrary& library, const LibraryNeeds& needs) {
  const std::string version =
      needs.version != nullptr ? needs.version(library) : version_by_property(library, needs.property);
  return version.empty() ? "of a version that it does not tell" : version;
}

// Whether the loader says that it finds no such file. Where the file lacks another one, that one's name comes
// first.
bool is_absence_of(std::string_view name, const std::string& words) {
  return words.starts_with(name) && words.find("No such file") != std::string::npos;
}

}  // namespace

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names, const std::string& wheel_folder) {
  // Of a library that is there the loader's words say what it lacks.
  std::string broken;
  for (const char* name : names) {
    const std::string words = load(name);
    if (words.empty()) return;
    if (broken.empty() && !is_absence_of(name, words)) broken = words;
  }
  std::vector<std::string> folders{kToolkit}, prefixes;
  if (!wheel_folder.empty()) {
    prefixes = python_prefixes(python_hints());
    for (std::string& folder : wheel_folders(prefixes, wheel_folder)) folders.push_back(std::move(folder));
    for (const std::string& prefix : prefixes) folders.push_back(prefix + "/lib");  // conda's packages
  }
  for (const std::string& folder : folders)
    for (const char* name : names) {
      const std::string file = folder + "/" + name;
      if (std::error_code none; !std::filesystem::exists(file, none)) continue;
      const std::string words = load(file.c_str());
      if (words.empty()) return;
      if (broken.empty()) broken = words;
    }
  if (!broken.empty()) {
    defect_ = fmt::format("{} was found but cannot be loaded: {}", fmt::join(names, " or "), broken);
    return;
  }
  defect_ = fmt::format("{} was not found where the system's loader looks, nor in {}",
                        fmt::join(names, " or "), kToolkit);
  if (!wheel_folder.empty()) defect_ += ", nor in " + searched_environments(prefixes, wheel_folder);
}

std::string SharedLibrary::load(const char* file) {
  library_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library_ != nullptr) return "";
  const char* words = dlerror();
  return words == nullptr ? file : words;
}

void* SharedLibrary::symbol(const char* name) const {
  return library_ == nullptr ? nullptr : dlsym(library_, name);
}

std::string defect(const SharedLibrary& library, const LibraryNeeds& needs) {
  if (!library.defect().empty()) return library.defect();
  for (const char* function : needs.functions)
    if (library.function<void()>(function) == nullptr)
      return fmt::format("{} {} was found, which has no function {}; {} is needed", needs.name,
                         version_of(library, needs), function, needs.versions);
  return "";
}

void check_device_after(const std::string& message) {
  // A query does not wait for work that is held back.
  const cudaError_t state = cudaStreamQuery(nullptr);
  if (state != cudaErrorNotReady) check(state, message.c_str());
}

}  // namespace convscope::cuda
