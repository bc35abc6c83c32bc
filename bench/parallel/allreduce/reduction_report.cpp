#include "bench/parallel/allreduce/reduction_report.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/parallel/network/model_error.hpp"

namespace convscope {
namespace {

std::string gigabytes_text(double bytes_per_second) {
  return fmt::format("{:.3g}", 1e-9 * bytes_per_second);
}

std::string verdict(const ReductionRow& row) {
  if (!row.exact) return kDash;
  if (row.outcome == RowOutcome::wrong) return "wrong: " + row.reason;
  return *row.repeatable ? "right, repeatable" : "right";
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

std::vector<std::string> cells(const ReductionRow& row) {
  std::vector<std::string> texts{bytes_text(row.bytes), row.reduce, kDash, kDash, kDash, kDash, kDash};
  if (row.has_time()) {
    const double seconds = row.time.median, bytes = static_cast<double>(row.bytes);
    texts[2] = milliseconds_text(seconds);
    if (row.time.n > 0 && std::isfinite(row.time.ci_low))
      texts[3] = fmt::format("[{}, {}]", milliseconds_text(row.time.ci_low, seconds),
                             milliseconds_text(row.time.ci_high, seconds));
    texts[4] = gigabytes_text(bytes / seconds);
    texts[5] = gigabytes_text(bus_bandwidth(bytes, seconds, row.fleet.ranks.count));
  }
  texts[6] = verdict(row);
  return texts;
}

}  // namespace

std::string words_of(const Fleet& fleet) {
  std::string text = fmt::format("{}, {}{}", name(fleet.basis), fleet.fabric,
                                 fleet.fabric_version.empty() ? "" : " (" + fleet.fabric_version + ")");
  if (fleet.ranks.nodes() > 1) text += fmt::format(", nodes of {}", fleet.ranks.per_node);
  if (!fleet.platform.empty()) text += "; platform " + fleet.platform;
  if (!fleet.links) return text;
  const auto link = [](const Link& one) {
    return fmt::format("{:g} GB/s, {:g} us", 1e-9 * one.bytes_per_second, 1e6 * one.latency);
  };
  if (fleet.ranks.nodes() == 1) return text + "; link " + link(fleet.links->within);
  text += "; link " + link(fleet.links->between);
  return fleet.ranks.per_node > 1 ? text + "; within a node " + link(fleet.links->within) : text;
}

void print_disturbed(std::ostream& out, int64_t samples, const Look& look) {
  if (samples == 0) return;
  const std::string text = fmt::format(
      "The machine was not quiet: {} lost time to other programs on some rank or to another rank on the "
      "same core, or found its GPU slowed or in use (column disturbed).",
      counted(samples, "sample"));
  fmt::print(out, "{}\n", wrapped(text, look.columns, "  "));
}

void print_reductions(std::ostream& out, std::span<const ReductionRow> rows, const Look& look) {
  std::map<std::string, std::vector<std::string>> refused;  // or failed, by reason: the reductions
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    const Ranks& ranks = rows[begin].fleet.ranks;
    TextTable table({"<bytes", "<reduce", ">median ms|ms", ">95% interval", ">algbw GB/s|algbw",
                     ">busbw GB/s|busbw", "<verified"},
                    {3, 4});
    for (end = begin; end < rows.size() && rows[end].fleet.ranks.count == ranks.count; ++end) {
      const ReductionRow& row = rows[end];
      if (row.outcome == RowOutcome::refused || row.outcome == RowOutcome::failed)
        add_once(refused[fmt::format("on {} ranks: {}: {}", ranks.count, row.reason, row.note)], row.reduce);
      else
        table.add(cells(row), ' ', row.outcome == RowOutcome::wrong ? colour::bad : colour::none);
    }
    if (table.empty()) continue;
    const std::string& device = rows[begin].device_name;
    print_heading(out, fmt::format("all-reduce over {} ranks", ranks.count),
                  words_of(rows[begin].fleet) + (device.empty() ? "" : "; " + device), look);
    const auto left_out = table.print(out, look);
    const bool is_modelled = rows[begin].fleet.basis == Basis::modelled;
    fmt::print(out, "{}{}\n", left_out_text(left_out, look),
               is_modelled ? model_error_text(kSumError, look) : "");
    int64_t disturbed = 0;
    for (const ReductionRow& row : rows.subspan(begin, end - begin)) disturbed += row.disturbed;
    print_disturbed(out, disturbed, look);
  }
  for (const auto& [reason, reductions] : refused)
    fmt::print(out, "{}\n", wrapped(comma_list(reductions) + " " + reason, look.columns, "  "));
}

}  // namespace convscope
