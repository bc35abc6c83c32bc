// Columns of what a library said when it was asked to choose: what it chose, how long that took, and its own
// timing, which is never the result.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/record/column_tables.hpp"

namespace convscope {
namespace {

const Offer* chosen(const R& r) {
  return r.answer && r.answer->chosen ? &r.answer->offers[static_cast<size_t>(*r.answer->chosen)] : nullptr;
}

Cell milliseconds(const R& r, double LibraryAnswer::*seconds) {
  return r.answer ? known(1e3 * (*r.answer).*seconds) : Cell{};
}

Cell words(const std::vector<std::string>& list) {
  return text(fmt::format("{}", fmt::join(list, " ")));
}

}  // namespace

std::span<const Column> answer_columns() {
  static constexpr Column table[] = {
      {"library_asked", "", "The function or mode by which a library was asked what to run; null elsewhere.",
       [](const R& r) { return r.answer ? text(r.answer->asked) : Cell{}; }},
      {"library_offers", "", "How many ways to run the problem it named.",
       [](const R& r) { return r.answer ? Cell{static_cast<int64_t>(r.answer->offers.size())} : Cell{}; }},
      {"library_notes", "", "Its notes on what was chosen, with spaces: TENSOR_CORE, WINOGRAD, FFT.",
       [](const R& r) { return chosen(r) != nullptr ? words(chosen(r)->notes) : Cell{}; }},
      {"library_repeats", "", "What it chose each time, with semicolons, where it was asked several times.",
       [](const R& r) {
         return r.answer ? text(fmt::format("{}", fmt::join(r.answer->repeats, ";"))) : Cell{};
       }},
      {"library_ms", "ms",
       "The library's own time of what was chosen, or autotuning's; for comparison, never the result.",
       [](const R& r) {
         return chosen(r) != nullptr && chosen(r)->seconds ? known(1e3 * *chosen(r)->seconds) : Cell{};
       }},
      {"descriptor_ms", "ms", "Host time of describing the problem to the library; part of plan_ms.",
       [](const R& r) { return milliseconds(r, &LibraryAnswer::descriptor_seconds); }},
      {"heuristic_ms", "ms", "Host time of asking it: its heuristic, or its own profiling; part of plan_ms.",
       [](const R& r) { return milliseconds(r, &LibraryAnswer::heuristic_seconds); }},
      {"build_ms", "ms",
       "Host time of building plans until one could be run, or all of them; part of plan_ms.",
       [](const R& r) { return milliseconds(r, &LibraryAnswer::build_seconds); }},
      {"compile_ms", "ms", "Of build_ms, plans whose kernels were compiled at run time; null where none was.",
       [](const R& r) {
         return r.answer && r.answer->compile_seconds ? known(1e3 * *r.answer->compile_seconds) : Cell{};
       }},
  };
  return table;
}

}  // namespace convscope
