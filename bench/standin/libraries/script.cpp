#include "bench/standin/libraries/script.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "bench/standin/libraries/runtime.hpp"

namespace convscope::standin {
namespace {

constexpr const char* kVariable = "CONVSCOPE_STANDIN_LIBRARIES";

nlohmann::json read_script() {
  const char* path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0') return nlohmann::json::object();
  try {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot be opened");
    return nlohmann::json::parse(file);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in libraries: %s=%s: %s\n", kVariable, path, error.what());
    std::_Exit(3);
  }
}

int times_called(const std::string& function) {
  static std::mutex mutex;
  static std::map<std::string, int> times;
  const std::lock_guard lock(mutex);
  return ++times[function];
}

int status_of(const nlohmann::json& fault, int (*number_of)(std::string_view)) {
  const auto status = fault.find("status");
  if (status == fault.end()) return 0;
  if (status->is_number()) return status->get<int>();
  const auto name = status->get<std::string>();
  const int number = number_of == nullptr ? 0 : number_of(name);
  if (number == 0) {
    std::fprintf(stderr, "stand-in libraries: the script's status %s is not known\n", name.c_str());
    std::_Exit(3);
  }
  return number;
}

}  // namespace

const nlohmann::json& section(std::string_view name) {
  static const nlohmann::json script = read_script();
  static const nlohmann::json none = nlohmann::json::object();
  const auto found = script.find(name);
  return found == script.end() ? none : *found;
}

int version_part(std::string_view library, int part, std::array<int, 3> otherwise) {
  return section(library).value("version", otherwise).at(static_cast<size_t>(part));
}

std::string beside_the_script(const std::string& file) {
  const char* path = std::getenv(kVariable);
  return (std::filesystem::path(path == nullptr ? "" : path).parent_path() / file).string();
}

Fault enter(const char* function, int (*number_of)(std::string_view)) {
  const int time = times_called(function);
  for (const nlohmann::json& fault : section("calls")) {
    if (fault.at("call") != function) continue;
    if (const auto at = fault.find("at"); at != fault.end() && *at != time) continue;
    while (fault.value("hangs", false)) std::this_thread::sleep_for(std::chrono::hours(1));
    if (const int code = fault.value("loses_the_device", 0); code != 0) lose_the_device(code);
    return {status_of(fault, number_of), fault.value("words", "")};
  }
  return {};
}

}  // namespace convscope::standin
