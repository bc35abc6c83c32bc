// The circumstances of a run, for results.json and `info`: the build, the libraries, the operating system,
// the processor and its present state. Not here: ceilings (bench/measure) and the command line
// (ResultFile::argv).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// What this build was made from and with. CMake writes the values (scripts/cmake/build_info.cmake fills in
// build_info.cpp.in on every build).
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

// {"program", "libraries", "system", "device", "gpu", "other_gpus", "state"}: "device" is the CPU, "gpu"
// exists where a GPU does, "other_gpus" where several do. Library versions are those of this build and of the
// providers in `registry`. What cannot be read is null.
nlohmann::ordered_json describe_environment(const std::vector<DeviceInfo>& devices, const Registry& registry);

// The time now as in 2026-01-31T12:34:56Z.
std::string utc_now();

}  // namespace convscope
