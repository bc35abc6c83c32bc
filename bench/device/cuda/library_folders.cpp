#include "bench/device/cuda/library_folders.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <system_error>
#include <utility>

namespace convscope::cuda {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Of a folder of libraries those of Python's versions, the newest first: 3.13 before 3.9.
std::vector<fs::path> pythons(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable), end; !unreadable && entry != end;
       entry.increment(unreadable))
    if (entry->path().filename().string().starts_with("python3")) found.push_back(entry->path());
  std::ranges::sort(found, std::greater(), [](const fs::path& python) {
    const std::string name = python.filename().string();
    return std::pair(name.size(), name);
  });
  return found;
}

// Folders that exist, each once however it is reached (lib64 of a virtual environment is a link to lib).
class Folders {
 public:
  void add(const fs::path& folder) {
    std::error_code none;
    const fs::path real = fs::canonical(folder, none);
    if (none || !fs::is_directory(real, none)) return;
    if (std::find(real_.begin(), real_.end(), real) != real_.end()) return;
    real_.push_back(real);
    found_.push_back(folder.string());
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<fs::path> real_;
  std::vector<std::string> found_;
};

}  // namespace

PythonHints python_hints() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  return {variable("VIRTUAL_ENV"),
          variable("CONDA_PREFIX"),
          variable("PATH"),
          {fs::current_path(unknown).string(), program.string(), program.parent_path().string()}};
}

std::vector<std::string> python_prefixes(const PythonHints& hints) {
  Folders prefixes;
  for (const std::string& activated : {hints.virtual_env, hints.conda_prefix})
    if (!activated.empty()) prefixes.add(activated);
  std::istringstream path(hints.path);
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    std::error_code none;
    if (folder.empty() || !fs::exists(python, none)) continue;
    prefixes.add(fs::path(folder).parent_path());
    if (const fs::path real = fs::canonical(python, none); !none)
      prefixes.add(real.parent_path().parent_path());
  }
  for (const std::string& base : hints.beside)
    for (const char* name : {".venv", "venv"})
      if (!base.empty()) prefixes.add(fs::path(base) / name);
  for (const char* usual : {"/usr/local", "/usr", "/opt/conda", "/opt/venv"}) prefixes.add(usual);
  return prefixes.take();
}

std::vector<std::string> wheel_folders(const std::vector<std::string>& prefixes, const std::string& package) {
  Folders folders;
  for (const std::string& prefix : prefixes)
    for (const char* lib : {"lib", "lib64"})
      for (const fs::path& python : pythons(fs::path(prefix) / lib))
        for (const char* packages : {"site-packages", "dist-packages"})
          for (const std::string& owner : {std::string("cu13"), package})
            folders.add(python / packages / "nvidia" / owner / "lib");
  return folders.take();
}

std::string searched_environments(const std::vector<std::string>& prefixes, const std::string& package) {
  return fmt::format(
      "lib/python3.*/site-packages/nvidia/{{{},cu13}}/lib of the Python environments {} (VIRTUAL_ENV, "
      "CONDA_PREFIX and PATH add others)",
      package, fmt::join(prefixes, ", "));
}

}  // namespace convscope::cuda
