// ConfigValue: one value of a config and its place in it. Reading it gives a checked value or throws a
// UsageError "FILE: at /layers/2/stride: found ...; allowed is ...". It knows JSON types and ranges, no field
// of a config.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {

class ConfigValue {
 public:
  // Both must outlive this value and everything made from it.
  ConfigValue(const nlohmann::json& value, const std::string& file) : value_(&value), file_(&file) {}

  // Throws "FILE: at PLACE: <what>".
  [[noreturn]] void refuse(const std::string& what) const;
  // Throws "FILE: at PLACE: found <this value>; allowed is <allowed>".
  [[noreturn]] void refuse_value(const std::string& allowed) const;

  // For an object that may only have `known` keys and must have the `required` ones.
  void check_object(std::span<const std::string_view> known,
                    std::span<const std::string_view> required) const;
  // A member of an object; nothing, or the fault, where there is none.
  std::optional<ConfigValue> find(std::string_view key) const;
  ConfigValue at(std::string_view key) const;

  // The entries of a list that is not empty.
  std::vector<ConfigValue> list() const;
  // The same, where a single value stands for a list of it.
  std::vector<ConfigValue> one_or_list() const;

  bool is_object() const { return value_->is_object(); }
  bool is_text() const { return value_->is_string(); }

  int64_t number(const WholeRange& range) const;
  double number(const NumberRange& range) const;
  bool boolean() const;
  std::string text() const;
  // A text that can stand in a line of a table: 1 to 100 bytes without control characters.
  std::string short_name() const;
  // [h, w], or one number for both.
  Extent2 extent(const WholeRange& range) const;
  // "256MiB", "inf" or a number of bytes.
  std::optional<int64_t> byte_limit() const;

  // The one of `values` that has the text for a name.
  template <typename Values>
  auto one_of(const Values& values) const {
    const auto names = all_names(values);
    if (!is_text()) refuse_value(comma_list(names));
    const auto value = from_name(values, text());
    if (!value) refuse_value(comma_list(names) + did_you_mean(text(), names));
    return *value;
  }

 private:
  ConfigValue(const nlohmann::json& value, const std::string& file, nlohmann::json::json_pointer place)
      : value_(&value), file_(&file), place_(std::move(place)) {}

  const nlohmann::json* value_;
  const std::string* file_;
  nlohmann::json::json_pointer place_;
};

// Reads every entry of `values` with `read` and refuses one that is there twice.
template <typename Read>
auto read_each(const std::vector<ConfigValue>& values, Read read) {
  std::vector<decltype(std::invoke(read, values.front()))> result;
  for (const ConfigValue& value : values) {
    auto entry = std::invoke(read, value);
    for (const auto& earlier : result)
      if (earlier == entry) value.refuse_value("every entry once, and this one was there before");
    result.push_back(std::move(entry));
  }
  return result;
}

// Reads a file as JSON (config_file.cpp), more strictly than the JSON library: an object may not have a key
// twice. Throws UsageError: not found, not readable (a folder, say), larger than 16 MiB, nested absurdly
// deep, or not JSON.
nlohmann::json read_json_file(const std::string& path);

// `file` is for messages, which give the line and column of a syntax fault and the JSON pointer of a key that
// is there twice or of a number out of range. A UTF-8 byte order mark is skipped.
nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace convscope
