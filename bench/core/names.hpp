// Reading back the names of enumerators: the one loop behind every *_from_name. What the names are is said by
// the name() beside each enum.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace convscope {

// The value of `all` whose name() is `text`, or nothing.
template <typename E, size_t N>
std::optional<E> from_name(const std::array<E, N>& all, std::string_view text) {
  for (E value : all)
    if (name(value) == text) return value;
  return std::nullopt;
}

}  // namespace convscope
