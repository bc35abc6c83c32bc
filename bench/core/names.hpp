// Enumerators and their names: the list of all of an enum, and the value of a name. What the names are is
// said by the name() beside each enum; those of this folder are in names.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace convscope {

// Every enumerator of an enum whose values count from 0 to `last`.
template <auto last>
constexpr auto enumerators() {
  std::array<decltype(last), static_cast<size_t>(last) + 1> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<decltype(last)>(i);
  return all;
}

// The value of `all` whose name() is `text`, or nothing.
template <typename E, size_t N>
std::optional<E> from_name(const std::array<E, N>& all, std::string_view text) {
  for (E value : all)
    if (name(value) == text) return value;
  return std::nullopt;
}

}  // namespace convscope
