// Text forms that configs, flags and their error messages share: byte sizes, names, "did you mean". Not here:
// JSON (config_file, config_value) and the meaning of any field (config, overrides).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

// What a number may be, in configs and flags: both ends are allowed.
struct WholeRange {
  int64_t lowest, highest;
  constexpr bool has(int64_t number) const { return number >= lowest && number <= highest; }
  std::string words() const;  // "a whole number from 1 to 8"
};
struct NumberRange {
  double highest;
  bool has_zero;  // the other end, which is 0: whether it is allowed
  constexpr bool has(double number) const {
    return (has_zero ? number >= 0 : number > 0) && number <= highest;
  }
  std::string words() const;  // "a number above 0, at most 1"
};

// A limit in bytes; null is no limit.
struct ByteLimit {
  std::optional<int64_t> bytes;
  bool operator==(const ByteLimit&) const = default;
};

inline constexpr std::string_view kByteLimitForms =
    "whole bytes, a whole number with KiB, MiB, GiB or TiB (as in 256MiB), or inf";

// "256MiB", "64KiB", "1GiB", "2TiB", "4096B", "4096", "inf". Nothing when the text is none of these or does
// not fit 64 bits.
std::optional<ByteLimit> parse_byte_limit(std::string_view text);

// The shortest such form that is exact: "256MiB", "1000", "inf".
std::string byte_limit_text(std::optional<int64_t> bytes);

inline constexpr size_t kLongestName = 100;  // of a network or layer, in bytes

// "; did you mean \"forward\"?": the candidate that `text` was probably meant to be, by edit distance without
// regard to case; nothing when none is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

// The names of enumerators, as in all_names(kPasses).
template <typename Values>
std::vector<std::string> all_names(const Values& values) {
  std::vector<std::string> names;
  for (auto value : values) names.emplace_back(name(value));
  return names;
}

// What a device may be called, in a sentence, and the nearest name to one that is none: "gpu" is cuda.
inline constexpr std::string_view kDeviceForms = "cpu, cuda (the first), cuda:N (counted from 0), emulator";
std::string did_you_mean_device(std::string_view name);

}  // namespace convscope
