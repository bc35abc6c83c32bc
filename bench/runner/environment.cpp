#include "bench/runner/environment.hpp"

#include <fmt/chrono.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>

#include "bench/device/cpu/system_files.hpp"
#include "bench/measure/health.hpp"
#include "bench/record/record_json.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// As os-release(5) says it, quotes taken off.
std::string name_of_system() {
  constexpr std::string_view key = "PRETTY_NAME=";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    line.erase(0, key.size());
    std::erase(line, '"');
    return line;
  }
  return "";
}

Json describe_program(const BuildInfo& build) {
  return {{"name", "convscope"},        {"version", build.version},       {"commit", build.commit},
          {"modified", build.modified}, {"build_type", build.build_type}, {"compiler", build.compiler},
          {"flags", build.flags}};
}

Json describe_libraries(const BuildInfo& build, const Registry& registry) {
  Json libraries = Json::object();
  for (const Algorithm* algorithm : registry.all())
    if (!algorithm->info().version.empty()) libraries[algorithm->info().provider] = algorithm->info().version;
  for (const auto& [library, version] : build.libraries) libraries[library] = text_or_null(version);
  return libraries;
}

Json describe_system() {
  utsname names{};
  uname(&names);
  return {
      {"name", text_or_null(name_of_system())}, {"kernel", names.release}, {"architecture", names.machine}};
}

Json describe_state() {
  const std::optional<std::string> governor = frequency_governor();
  const std::optional<double> load = load_average();
  const std::optional<int64_t> memory = available_memory("");
  return {{"time", utc_now()},
          {"governor", text_or_null(governor.value_or(""))},
          {"load_1min", load ? Json(*load) : Json(nullptr)},
          {"available_memory_bytes", memory ? Json(*memory) : Json(nullptr)},
          {"transparent_hugepages", text_or_null(first_line("/sys/kernel/mm/transparent_hugepage/enabled"))},
          {"smt_active", text_or_null(first_line("/sys/devices/system/cpu/smt/active"))}};
}

}  // namespace

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Json describe_environment(const std::vector<DeviceInfo>& devices, const Registry& registry) {
  const BuildInfo build = build_info();
  Json environment = {{"program", describe_program(build)},
                      {"libraries", describe_libraries(build, registry)},
                      {"system", describe_system()}};
  for (const DeviceInfo& device : devices) {
    if (device.kind == DeviceKind::cpu) environment["device"] = to_json(device);
    if (device.kind != DeviceKind::cuda) continue;
    if (device.index == 0)
      environment["gpu"] = to_json(device);
    else
      environment["other_gpus"].push_back(to_json(device));
  }
  environment["state"] = describe_state();
  return environment;
}

}  // namespace convscope
