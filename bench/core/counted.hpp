// Numbers of things and of bytes, in sentences for people: "1 record", "3 records", "1.5 MiB".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace convscope {

// `thing` is one of them, and gets an s where there are more or none.
std::string counted(std::integral auto count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

// `value` in the first unit that it is under `step` of.
template <size_t N>
std::string in_units(double value, double step, const char* const (&units)[N]) {
  size_t unit = 0;
  while (unit + 1 < N && value >= step) {
    value /= step;
    ++unit;
  }
  char text[400];  // as many digits as a double may have
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
  return text;
}

inline std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return in_units(bytes, 1024, units);
}
inline std::string bytes_text(int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

}  // namespace convscope
