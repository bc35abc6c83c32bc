#include "bench/standin/libraries/script.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace

const nlohmann::json& section(std::string_view name) {
  static const nlohmann::json script = read_script();
  static const nlohmann::json none;
  const auto found = script.find(name);
  return found == script.end() ? none : *found;
}

int version_part(std::string_view library, int part, std::array<int, 3> otherwise) {
  const nlohmann::json& of_library = section(library);
  const bool is_told = of_library.is_object() && of_library.contains("version");
  const auto version = is_told ? of_library.at("version").get<std::array<int, 3>>() : otherwise;
  return version.at(static_cast<size_t>(part));
}

std::string beside_the_script(const std::string& file) {
  const char* path = std::getenv(kVariable);
  return (std::filesystem::path(path == nullptr ? "" : path).parent_path() / file).string();
}

}  // namespace convscope::standin
