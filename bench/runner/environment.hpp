// The circumstances of a run, for results.json and `info`: the build, the libraries, the operating system,
// the processor and its present state. Not here: ceilings (bench/measure) and the command line
// (ResultFile::argv).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// {"program", "libraries", "system", "device", "gpu", "state"}: "device" is the CPU, "gpu" exists where a
// GPU does. Library versions are those of this build and of the providers in `registry`. What cannot be read
// is null.
nlohmann::ordered_json describe_environment(const std::vector<DeviceInfo>& devices, const Registry& registry);

// The time now as in 2026-01-31T12:34:56Z.
std::string utc_now();

}  // namespace convscope
