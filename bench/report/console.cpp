// print_group(); the roll-up is in roll_up.cpp.
#include "bench/report/console.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "bench/record/bound.hpp"
#include "bench/report/format.hpp"
#include "bench/report/ranking.hpp"
#include "bench/report/text_table.hpp"

namespace convscope {
namespace {

void print_heading(std::ostream& out, const CaseKey& key, const DeviceInfo& device, bool coloured) {
  const std::string place = key.layer.empty() ? "" : key.layer + " ";
  const std::string title = fmt::format("{}{}: {}, {}", place, name(key.problem.pass),
                                        problem_words(key.problem), flops_text(key.problem.nominal_flops()));
  out << (coloured ? colour::heading : "") << title << (coloured ? colour::reset : "") << '\n';
  fmt::print(out, "  {}\n", circumstances(key, device));
}

std::vector<std::string> cells(const ResultRecord& record, std::optional<double> baseline) {
  const std::string dash = "-";
  std::vector<std::string> row{marked_name(record), dash, dash, dash, dash};
  if (is_timed(record)) {
    const Statistics& s = record.time->full.statistics;
    row[1] = milliseconds_text(s.median);
    if (std::isfinite(s.ci_low))
      row[2] = fmt::format("[{}, {}]", milliseconds_text(s.ci_low, s.median),
                           milliseconds_text(s.ci_high, s.median));
    row[3] = fmt::format("{:.1f}", record.key.problem.nominal_flops() / s.median / 1e9);
    if (const auto percent = percent_of_ceiling(record)) row[4] = fmt::format("{:.1f}", *percent);
  }
  row.push_back(bytes_text(static_cast<double>(record.workspace_bytes)));
  const auto& error = record.accuracy.relative_l2;
  row.push_back(error ? fmt::format("{:.1e}", *error) : dash);
  const bool compared = baseline && is_timed(record);
  row.push_back(compared ? fmt::format("{:.2f}x", *baseline / median_seconds(record)) : dash);
  return row;
}

// One line a distinct refusal: the algorithms that share it, its code and sentence.
void print_reasons(std::ostream& out, const std::vector<const ResultRecord*>& records,
                   std::string_view paint) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  for (const ResultRecord* record : records) {
    const bool coded = record->reason != Reason::none;
    std::string what(coded ? name(record->reason) : name(record->outcome));
    if (!record->note.empty()) what += ": " + record->note;
    auto same =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == what; });
    if (same == lines.end()) same = lines.insert(lines.end(), {what, {}});
    same->second.push_back(record->key.algorithm);
  }
  for (const auto& [what, algorithms] : lines) {
    fmt::print(out, "{}  {}: {}{}\n", paint, comma_list(shortened(algorithms)), what,
               paint.empty() ? "" : colour::reset);
  }
}

// Names the good rows whose time deserves a doubt.
void print_doubts(std::ostream& out, const std::vector<const ResultRecord*>& timed) {
  std::vector<std::string> throttled, unconverged;
  for (const ResultRecord* record : timed) {
    if (record->health.throttled) throttled.push_back(record->key.algorithm);
    const std::string& stop = record->time->stop_reason;
    if (stop == "time_limit" || stop == "max_samples") unconverged.push_back(record->key.algorithm);
  }
  if (!throttled.empty()) fmt::print(out, "  throttled while measured: {}\n", comma_list(throttled));
  if (!unconverged.empty())
    fmt::print(out, "  stopped before converging: {}\n", comma_list(shortened(unconverged)));
}

}  // namespace

void print_group(std::ostream& out, std::span<const ResultRecord> records, const ConsoleStyle& style) {
  if (records.empty()) return;
  print_heading(out, records[0].key, records[0].device, style.colour);

  std::vector<const ResultRecord*> good, untimed, wrong, refused;
  for (const ResultRecord& record : records) {
    if (can_win(record))
      good.push_back(&record);
    else if (record.outcome == Outcome::measured || record.outcome == Outcome::verified_only)
      untimed.push_back(&record);
    else if (record.outcome == Outcome::wrong)
      wrong.push_back(&record);
    else
      refused.push_back(&record);
  }
  std::stable_sort(good.begin(), good.end(), ranks_before);

  TextTable table({"<algorithm", ">median ms", ">95% interval", ">nominal GFLOP/s", ">% ceiling",
                   ">workspace", ">error", ">vs onednn"});
  const auto baseline = baseline_seconds(good);
  bool ties = false;
  for (const ResultRecord* record : good) {
    const bool best = record == good.front();
    const bool tie =
        !best && is_tie(*record, *good.front()) && record->health.throttled == good.front()->health.throttled;
    ties = ties || tie;
    table.add(cells(*record, baseline), best ? '*' : tie ? '~' : ' ', best ? colour::good : colour::none);
  }
  for (const ResultRecord* record : untimed) table.add(cells(*record, std::nullopt));
  for (const ResultRecord* record : wrong) table.add(cells(*record, std::nullopt), '!', colour::bad);
  if (!table.empty()) table.print(out, style.colour);
  if (good.empty() && untimed.empty()) out << "  no correct row\n";

  if (ties) out << "  ~ its interval overlaps that of *: not shown to be slower\n";
  print_doubts(out, good);
  print_reasons(out, wrong, style.colour ? colour::bad : colour::none);
  print_reasons(out, refused, style.colour ? colour::quiet : colour::none);
  out << '\n';
}

}  // namespace convscope
