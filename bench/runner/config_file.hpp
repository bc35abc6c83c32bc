// Reads a file as JSON, or throws a UsageError with the place of the fault. Stricter than the JSON library:
// an object may not have a key twice. What the values mean is config.hpp's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace convscope {

// Throws UsageError: not found, not readable (a folder, say), larger than 16 MiB, nested absurdly deep, or
// not JSON.
nlohmann::json read_json_file(const std::string& path);

// `file` is for messages, which give the line and column of a syntax fault and the JSON pointer of a key that
// is there twice or of a number out of range. A UTF-8 byte order mark is skipped.
nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace convscope
