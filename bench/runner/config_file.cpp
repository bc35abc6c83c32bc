// parse_json() and read_json_file(), with a good message for every way in which JSON can fail.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/runner/config_value.hpp"

namespace convscope {
namespace {

using nlohmann::json;

constexpr size_t kLargestFile = size_t{16} << 20;
constexpr size_t kDeepest = 32;  // a config has 5 levels; the JSON library prints nested values recursively

// Follows the parser through the document: knows the place where it is and refuses a key that comes twice.
class PlaceTracker {
 public:
  explicit PlaceTracker(const std::string& file) : file_(file) {}

  void on(json::parse_event_t event, const json& value) {
    switch (event) {
      case json::parse_event_t::object_start:
        open({.is_array = false});
        break;
      case json::parse_event_t::array_start:
        open({.is_array = true});
        break;
      case json::parse_event_t::key:
        enter(value.get_ref<const std::string&>());
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        levels_.pop_back();
        finish_value();
        break;
      case json::parse_event_t::value:
        finish_value();
        break;
    }
  }

  std::string place() const {
    json::json_pointer pointer;
    for (const Level& level : levels_) level.is_array ? pointer /= level.index : pointer /= level.key;
    return pointer.empty() ? "the top level" : pointer.to_string();
  }

 private:
  struct Level {
    bool is_array = false;
    size_t index = 0;
    std::string key = {};
    std::set<std::string> keys = {};
  };

  void open(Level level) {
    if (levels_.size() == kDeepest)
      throw UsageError(fmt::format("{}: at {}: found lists or objects nested more than {} deep", file_,
                                   place(), kDeepest));
    levels_.push_back(std::move(level));
  }

  void enter(const std::string& key) {
    levels_.back().key = key;
    if (!levels_.back().keys.insert(key).second)
      throw UsageError(
          fmt::format("{}: at {}: the key \"{}\" is there twice; allowed is once", file_, place(), key));
  }

  void finish_value() {
    if (!levels_.empty() && levels_.back().is_array) ++levels_.back().index;
  }

  const std::string& file_;
  std::vector<Level> levels_;
};

// The library's sentence without its prefix; bytes that a terminal may not show become '?'.
std::string reason_of(const json::exception& error) {
  std::string text = error.what();
  if (const size_t start = text.find("syntax error"); start != std::string::npos) text = text.substr(start);
  if (const size_t start = text.find("number overflow"); start != std::string::npos)
    text = text.substr(start);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 32 || c > 126; }, '?');
  return text;
}

// `byte` counts from 1; the result is "line 3, column 7", columns in bytes.
std::string line_and_column(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("line {}, column {}", line, column);
}

bool starts_with_utf16_mark(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

}  // namespace

json parse_json(std::string_view text, const std::string& file) {
  if (starts_with_utf16_mark(text))
    throw UsageError(
        fmt::format("{}: line 1, column 1: found the mark of UTF-16 text; allowed is JSON in UTF-8", file));
  constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";
  if (text.starts_with(utf8_mark)) text.remove_prefix(utf8_mark.size());
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw UsageError(fmt::format("{}: line 1, column 1: the file is empty; allowed is a JSON object", file));

  PlaceTracker tracker(file);
  const auto follow = [&](int, json::parse_event_t event, json& value) {
    tracker.on(event, value);
    return true;
  };
  try {
    return json::parse(text, follow);
  } catch (const json::parse_error& error) {
    throw UsageError(fmt::format("{}: {}: {}", file, line_and_column(text, error.byte), reason_of(error)));
  } catch (const json::out_of_range& error) {
    throw UsageError(fmt::format("{}: at {}: {}; allowed is a number below 1e308", file, tracker.place(),
                                 reason_of(error)));
  }
}

json read_json_file(const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("{}: cannot be read: {}; allowed is the path of a JSON file", path, what));
  };
  const auto refuse_by_errno = [&] { refuse(std::generic_category().message(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!stream) refuse_by_errno();
  std::string text;
  std::vector<char> chunk(size_t{64} << 10);
  while (const size_t got = std::fread(chunk.data(), 1, chunk.size(), stream.get())) {
    text.append(chunk.data(), got);
    if (text.size() > kLargestFile) refuse("it is larger than 16 MiB");
  }
  if (std::ferror(stream.get()) != 0) refuse_by_errno();
  return parse_json(text, path);
}

}  // namespace convscope
