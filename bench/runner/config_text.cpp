// Byte sizes and the nearest name. See config_text.hpp.
#include "bench/runner/config_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <utility>

#include "bench/core/device_info.hpp"

namespace convscope {
namespace {

struct ByteUnit {
  std::string_view suffix;
  int64_t bytes;
};
constexpr ByteUnit kByteUnits[] = {{"TiB", int64_t{1} << 40},
                                   {"GiB", int64_t{1} << 30},
                                   {"MiB", int64_t{1} << 20},
                                   {"KiB", int64_t{1} << 10},
                                   {"B", 1},
                                   {"", 1}};

// Levenshtein's distance: insertions, deletions and replacements of one character.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

}  // namespace

std::string WholeRange::words() const {
  return fmt::format("a whole number from {} to {}", lowest, highest);
}

std::string NumberRange::words() const {
  return fmt::format(fmt::runtime(has_zero ? "a number from 0 to {}" : "a number above 0, at most {}"),
                     highest);
}

std::optional<ByteLimit> parse_byte_limit(std::string_view text) {
  if (text == "inf") return ByteLimit{};
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const auto& unit : kByteUnits) {
    if (unit.suffix != suffix) continue;
    if (__builtin_mul_overflow(number, unit.bytes, &number)) return std::nullopt;
    return ByteLimit{number};
  }
  return std::nullopt;
}

std::string byte_limit_text(std::optional<int64_t> bytes) {
  if (!bytes) return "inf";
  for (const auto& [suffix, unit] : kByteUnits)
    if (unit > 1 && *bytes >= unit && *bytes % unit == 0) return fmt::format("{}{}", *bytes / unit, suffix);
  return std::to_string(*bytes);
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
  // No name is longer, and the distance takes quadratic time.
  if (text.empty() || text.size() > kLongestName) return "";
  std::string hint;
  size_t best_distance = std::max<size_t>(1, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(lower_case(text), lower_case(candidate));
    if (distance >= best_distance || distance >= candidate.size()) continue;
    hint = fmt::format("; did you mean \"{}\"?", candidate);
    best_distance = distance;
  }
  return hint;
}

std::string did_you_mean_device(std::string_view name) {
  const std::string text = lower_case(name);
  for (const char* other : {"gpu", "nvidia"})
    if (text.starts_with(other)) return "; did you mean \"cuda\"?";
  return did_you_mean(text, all_names(kDeviceKinds));
}

}  // namespace convscope
