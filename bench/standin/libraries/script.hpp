// The script of the stand-in libraries: one JSON file, named by the environment variable
// CONVSCOPE_STANDIN_LIBRARIES, that says what they answer and where they fail. README.md describes it.
// Without the variable every section is empty.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace convscope::standin {

// A section ("cudnn", "calls", "nvml", "missing"); null where the script has none. A script that cannot be
// read ends the program with a message.
const nlohmann::json& section(std::string_view name);

// Where the script's folder is, for files that it names.
std::string beside_the_script(const std::string& file);

}  // namespace convscope::standin
