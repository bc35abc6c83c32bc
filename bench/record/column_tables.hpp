// The parts that columns() is put together from, and the few words their cells are written with. For the
// columns_*.cpp files only; everybody else includes columns.hpp.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/record/columns.hpp"

namespace convscope {

std::span<const Column> case_columns();
std::span<const Column> time_columns();
std::span<const Column> work_columns();
std::span<const Column> answer_columns();
std::span<const Column> ranking_columns();

using R = ResultRecord;  // named in every row of the tables

// Text; null where it is empty.
inline Cell text(std::string_view value) {
  return value.empty() ? Cell{} : Cell{std::string(value)};
}
// A number; null where it is not finite.
inline Cell known(double value) {
  return std::isfinite(value) ? Cell{value} : Cell{};
}
inline Cell known(const std::optional<double>& value) {
  return value ? known(*value) : Cell{};
}
inline Cell known(const std::optional<int64_t>& value) {
  return value ? Cell{*value} : Cell{};
}
inline Cell known(const std::optional<bool>& value) {
  return value ? Cell{*value} : Cell{};
}

}  // namespace convscope
