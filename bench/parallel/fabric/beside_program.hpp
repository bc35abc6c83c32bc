// What is built beside the program and may be missing: modules and programs that need a library of their own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace convscope {

// The path of such a file; empty where it is not there.
inline std::string beside_program(std::string_view file) {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto path = program.parent_path() / file;
  return !unknown && std::filesystem::exists(path, unknown) ? path.string() : "";
}

}  // namespace convscope
