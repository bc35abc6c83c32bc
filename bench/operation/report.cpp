#include "bench/operation/report.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "bench/core/counted.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/report/console.hpp"

namespace convscope {
namespace {

std::string time_text(const OperationRow* row) {
  return row != nullptr ? milliseconds_text(row->time.median) : kDash;
}

std::string share_text(const OperationRow* row) {
  if (row == nullptr || row->of.ceilings.copy_bytes <= 0) return kDash;
  return fmt::format("{:.0f}%", 100 * row->bytes_per_second() / row->of.ceilings.copy_bytes);
}

std::string ratio_text(const OperationRow* own, const OperationRow* library) {
  if (own == nullptr || library == nullptr) return kDash;
  const bool apart = own->time.ci_low > library->time.ci_high || library->time.ci_low > own->time.ci_high;
  return fmt::format("{}{:.2f}x", apart ? "" : "~", library->time.median / own->time.median);
}

bool is_faster(const OperationRow& row, const OperationRow* than) {
  return than == nullptr || row.time.median < than->time.median;
}

std::string circumstances(const OperationRun& of) {
  if (of.device.kind == DeviceKind::emulator) return "fp32 nchw, on the emulator: checked, not timed";
  const std::string threads = of.device.kind == DeviceKind::cpu ? counted(of.threads, "thread") + ", " : "";
  return fmt::format("fp32 nchw, {}{}, tensors out of the caches; a copy moves {:.1f} GB/s", threads,
                     of.device.name, 1e-9 * of.ceilings.copy_bytes);
}

void print_wrong(std::ostream& out, std::span<const OperationRow> rows) {
  for (const OperationRow& row : rows)
    if (row.outcome == OperationOutcome::wrong)
      fmt::print(out, "wrong: {} {} by {}: {}\n", row.layer, to_text(row.problem), row.provider, row.note);
}

void print_checks(std::ostream& out, std::span<const OperationRow> rows) {
  const auto right = std::ranges::count_if(
      rows, [](const OperationRow& row) { return row.outcome == OperationOutcome::verified_only; });
  fmt::print(out, "  {} of {} results are right.\n", right, rows.size());
  print_wrong(out, rows);
}

}  // namespace

void print_operations(std::ostream& out, std::span<const OperationRow> rows, const Look& look) {
  if (rows.empty()) return;
  const OperationRun& of = rows.front().of;
  const bool has_times = of.device.kind != DeviceKind::emulator;
  print_heading(out,
                fmt::format("What stands between the convolutions of {}, batch {}{}", of.network, of.batch,
                            has_times ? "; times in ms" : ""),
                circumstances(of), look);
  if (!has_times) return print_checks(out, rows);
  TextTable table(
      {"<layer", "<operation", ">MB", ">ours ms|ours", ">of a copy's rate|of a copy", ">library ms|library",
       ">library of a copy's|of a copy", "<library's name|name", ">library / ours|ratio"},
      {6, 7});
  int64_t disturbed = 0;
  for (size_t i = 0; i < rows.size();) {
    const OperationRow *own = nullptr, *library = nullptr;
    const size_t first = i;
    for (; i < rows.size() && rows[i].layer == rows[first].layer && rows[i].problem == rows[first].problem;
         ++i) {
      disturbed += rows[i].disturbed;
      if (rows[i].time.n == 0) continue;
      const OperationRow*& slot = i == first ? own : library;
      if (is_faster(rows[i], slot)) slot = &rows[i];
    }
    const OperationProblem& problem = rows[first].problem;
    std::string operation = problem.is_pool() ? to_text(problem.pool) : std::string(name(problem.sort));
    if (problem.backward) operation += " backward";
    table.add({rows[first].layer, operation,
               fmt::format("{:.2f}", 1e-6 * static_cast<double>(problem.bytes())), time_text(own),
               share_text(own), time_text(library), share_text(library),
               library != nullptr ? library->provider : kDash, ratio_text(own, library)});
  }
  const auto left_out = table.print(out, look);
  fmt::print(
      out, "  MB: each tensor once, twice where it is updated in place. ~ their 95% intervals overlap.\n{}\n",
      left_out_text(left_out, look));
  print_wrong(out, rows);
  if (disturbed > 0)
    fmt::print(out, "The machine was not quiet: {} {} disturbed twice.\n", counted(disturbed, "sample"),
               disturbed == 1 ? "was" : "were");
  if (has_virtual_time(of.device)) out << kVirtualTime;
}

}  // namespace convscope
