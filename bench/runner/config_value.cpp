// Checks of JSON types and ranges, and how a message quotes a value.
#include "bench/runner/config_value.hpp"

#include <algorithm>

#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

using nlohmann::json;

std::vector<std::string> strings(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

// A value as JSON, cut short.
std::string quoted(const json& value) {
  return cut_short(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

// A value as a message names it.
std::string described(const json& value) {
  if (value.is_object()) return value.empty() ? "an empty object" : "an object";
  if (value.is_array()) return value.empty() ? "an empty list" : "the list " + quoted(value);
  if (value.is_string()) return "the text " + quoted(value);
  if (value.is_number()) return "the number " + quoted(value);
  return quoted(value);
}

}  // namespace

void ConfigValue::refuse(const std::string& what) const {
  const std::string place = place_.empty() ? "the top level" : place_.to_string();
  throw UsageError(fmt::format("{}: at {}: {}", *file_, place, what));
}

void ConfigValue::refuse_value(const std::string& allowed) const {
  refuse(fmt::format("found {}; allowed is {}", described(*value_), allowed));
}

void ConfigValue::check_object(std::span<const std::string_view> known,
                               std::span<const std::string_view> required) const {
  if (!value_->is_object()) refuse_value("an object with the keys " + comma_list(strings(known)));
  for (const auto& [key, value] : value_->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      ConfigValue(value, *file_, place_ / key)
          .refuse(fmt::format("found the unknown key {}; allowed are {}{}", quoted(json(key)),
                              comma_list(strings(known)), did_you_mean(key, strings(known))));
  for (std::string_view key : required)
    if (!find(key))
      refuse(fmt::format("the key \"{}\" is missing; needed are {}", key, comma_list(strings(required))));
}

std::optional<ConfigValue> ConfigValue::find(std::string_view key) const {
  const auto member = value_->find(key);
  if (member == value_->end()) return std::nullopt;
  return ConfigValue(*member, *file_, place_ / std::string(key));
}

ConfigValue ConfigValue::at(std::string_view key) const {
  auto member = find(key);
  if (!member) refuse(fmt::format("the key \"{}\" is missing", key));
  return *member;
}

std::vector<ConfigValue> ConfigValue::list() const {
  if (!value_->is_array() || value_->empty()) refuse_value("a list with at least one entry");
  std::vector<ConfigValue> entries;
  for (size_t i = 0; i < value_->size(); ++i)
    entries.push_back(ConfigValue((*value_)[i], *file_, place_ / i));
  return entries;
}

std::vector<ConfigValue> ConfigValue::one_or_list() const {
  if (value_->is_array()) return list();
  return {*this};
}

int64_t ConfigValue::number(const WholeRange& range) const {
  // A number that was written as 3.0, or that has no place in 64 bits, is a float to the library.
  const bool too_large = value_->is_number_unsigned() && value_->get<uint64_t>() > INT64_MAX;
  if (!value_->is_number_integer() || too_large || !range.has(value_->get<int64_t>()))
    refuse_value(range.words());
  return value_->get<int64_t>();
}

double ConfigValue::number(const NumberRange& range) const {
  if (!value_->is_number() || !range.has(value_->get<double>())) refuse_value(range.words());
  return value_->get<double>();
}

bool ConfigValue::boolean() const {
  if (!value_->is_boolean()) refuse_value("true or false");
  return value_->get<bool>();
}

std::string ConfigValue::text() const {
  if (!value_->is_string()) refuse_value("a text in quotes");
  return value_->get<std::string>();
}

std::string ConfigValue::short_name() const {
  const auto is_control = [](unsigned char c) { return c < 32 || c == 127; };
  const bool is_good = value_->is_string() && !text().empty() && text().size() <= kLongestName &&
                       std::none_of(value_->get_ref<const std::string&>().begin(),
                                    value_->get_ref<const std::string&>().end(), is_control);
  if (!is_good)
    refuse_value(fmt::format("a text of 1 to {} bytes in quotes, without control characters", kLongestName));
  return text();
}

Extent2 ConfigValue::extent(const WholeRange& range) const {
  if (value_->is_number()) {
    const int64_t both = number(range);
    return {both, both};
  }
  if (!value_->is_array() || value_->size() != 2)
    refuse_value(fmt::format("[h, w] or one number for both, from {} to {}", range.lowest, range.highest));
  const auto entries = list();
  return {entries[0].number(range), entries[1].number(range)};
}

std::optional<int64_t> ConfigValue::byte_limit() const {
  if (value_->is_number_integer()) return number(WholeRange{0, INT64_MAX});
  const auto limit = is_text() ? parse_byte_limit(text()) : std::nullopt;
  if (!limit) refuse_value(std::string(kByteLimitForms));
  return limit->bytes;
}

}  // namespace convscope
