// The script of the stand-in libraries: one JSON file, named by the environment variable
// CONVSCOPE_STANDIN_LIBRARIES, that says what they answer and where they fail. README.md describes it.
// Without the variable every section is empty.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace convscope::standin {

// A section ("cudnn", "calls", "nvml", "missing"); an empty object where the script has none. A script that
// cannot be read ends the program with a message.
const nlohmann::json& section(std::string_view name);

// What cublasGetProperty() and its like tell: a part of the version, [13, 1, 0], in a library's section.
int version_part(std::string_view library, int part, std::array<int, 3> otherwise);

// Where the script's folder is, for files that it names.
std::string beside_the_script(const std::string& file);

// The fault that the script has for this call of `function`, counted from 1 in this process: the status that
// the function must return, with the library's words on it, or 0. A call that the script lets hang does not
// return; one that loses the device puts the runtime into its sticky error first.
struct Fault {
  int status = 0;
  std::string words;
  explicit operator bool() const { return status != 0; }
};

// `number_of` translates a status that the script names ("CUDNN_STATUS_BAD_PARAM"); 0 where there is none.
Fault enter(const char* function, int (*number_of)(std::string_view) = nullptr);

}  // namespace convscope::standin
