// What this build was made from and with. CMake writes the values (scripts/cmake/build_info.cmake fills in
// build_info.cpp.in on every build).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace convscope {

struct BuildInfo {
  std::string version;
  std::string commit;     // of git, in full; "unknown" outside a repository
  bool modified = false;  // tracked files differed from that commit, result files aside
  std::string build_type;
  std::string compiler;
  std::string flags;  // for every source file; warnings left out
  std::vector<std::pair<std::string, std::string>>
      libraries;  // name and version, of headers or CMake package
};

BuildInfo build_info();

}  // namespace convscope
