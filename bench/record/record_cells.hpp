// What the columns of a record's table are made of: cells of a record's members, statistics and bounds. A
// cell is null where the record does not have the value.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <tuple>
#include <vector>

#include "bench/record/bound.hpp"
#include "bench/record/cells.hpp"
#include "bench/record/result.hpp"

namespace convscope::record_cells {

using R = ResultRecord;  // named in every line of the table

// A count or rate that is 0 when nobody knows it.
inline Cell unless_zero(double value) {
  return value == 0 ? Cell{} : cell(value);
}
inline Cell scaled(double factor, const std::optional<double>& value) {
  return value ? cell(factor * *value) : Cell{};
}
inline Cell joined(const std::vector<std::string>& words, std::string_view separator) {
  return cell(fmt::format("{}", fmt::join(words, separator)));
}

template <typename T>
const T* pointer_to(const T& value) {
  return &value;
}
template <typename T>
const T* pointer_to(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

// A member of the record or of one of its parts, which its type names; null where the record lacks the part.
template <typename Part, typename T>
Cell cell_of(const R& r, T Part::*member) {
  const std::tuple parts(&r, &r.key, &r.key.problem, &r.device, &r.algorithm, &r.health, &r.accuracy,
                         pointer_to(r.time), pointer_to(r.answer), pointer_to(r.ranking));
  const auto* part = std::get<const Part*>(parts);
  return part == nullptr ? Cell{} : cell(part->*member);
}
template <auto member>
Cell of(const R& r) {
  return cell_of(r, member);
}
template <auto extent, auto axis>
Cell of(const R& r) {
  return cell(r.key.problem.*extent.*axis);
}
template <auto member>
Cell if_timed(const R& r) {
  return r.time ? cell_of(r, member) : Cell{};
}
template <auto member>
Cell of_operations(const R& r) {
  return unless_zero(r.operations.*member);
}
template <auto member>
Cell ceiling(const R& r) {
  return unless_zero(r.ceilings.*member / 1e9);
}

// One statistic of a total; null where there is no such total.
template <auto total, auto statistic>
Cell milliseconds(const R& r) {
  const Series* series = r.time ? pointer_to((*r.time).*total) : nullptr;
  return series == nullptr || series->statistics.n == 0 ? Cell{} : cell(1e3 * series->statistics.*statistic);
}
template <Phase phase>
Cell phase_milliseconds(const R& r) {
  return r.time ? scaled(1e3, r.time->phase_seconds[static_cast<size_t>(phase)]) : Cell{};
}
template <auto seconds>
Cell answer_milliseconds(const R& r) {
  return r.answer ? scaled(1e3, (*r.answer).*seconds) : Cell{};
}

// The second series of --aa over the first.
inline Cell aa_ratio(const R& r) {
  if (!r.time || !r.time->repeat) return {};
  return cell(r.time->repeat->statistics.median / r.time->full.statistics.median);
}

// `flops` over the median of full; null without a time or a count.
inline Cell gflops(const R& r, double flops) {
  if (!r.time || r.time->full.statistics.n == 0 || flops <= 0) return {};
  return cell(flops / r.time->full.statistics.median / 1e9);
}

inline Cell intensity(const R& r) {
  return unless_zero(r.operations.executed_flops() / static_cast<double>(r.key.problem.total_bytes()));
}

// The plan's workspace; null where no plan was built.
inline Cell workspace(const R& r) {
  const bool planned = r.outcome == Outcome::measured || r.outcome == Outcome::verified_only ||
                       r.outcome == Outcome::wrong || r.outcome == Outcome::over_workspace;
  return planned || r.workspace_bytes > 0 ? cell(r.workspace_bytes) : Cell{};
}

inline Cell bound_kind(const R& r) {
  const auto limit = bound(r);
  return limit ? cell(limit->kind()) : Cell{};
}
inline Cell bound_milliseconds(const R& r) {
  const auto limit = bound(r);
  return limit ? cell(1e3 * limit->seconds()) : Cell{};
}

inline const Offer* chosen(const R& r) {
  return r.answer && r.answer->chosen ? &r.answer->offers[static_cast<size_t>(*r.answer->chosen)] : nullptr;
}

}  // namespace convscope::record_cells
