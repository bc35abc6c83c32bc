// print_group() and the progress line; the roll-up is in roll_up.cpp.
#include "bench/report/console.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "bench/ranking/contest.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/record/bound.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

void print_contest_heading(std::ostream& out, const CaseKey& key, const DeviceInfo& device,
                           const Look& look) {
  const std::string place = key.layer.empty() ? "" : key.layer + " ";
  const std::string title = fmt::format("{}{}: {}, {}", place, name(key.problem.pass),
                                        problem_words(key.problem), flops_text(key.problem.nominal_flops()));
  print_heading(out, title, circumstances(key, device), look);
}

TextTable timed_table(const ResultRecord* baseline) {
  return TextTable({"<algorithm", ">median ms|ms", ">95% interval", ">nominal GFLOP/s|GFLOP/s",
                    ">% ceiling|% ceil", ">workspace", ">error", ">vs " + baseline_name(baseline)},
                   {5, 4, 6, 3, 2});
}

// The cells of one row of it; without a speed-up where there is no baseline.
std::vector<std::string> cells(const ResultRecord& record, const ResultRecord* baseline) {
  std::vector<std::string> texts{marked_name(record), kDash, kDash, kDash, kDash};
  if (is_timed(record)) {
    const Statistics& s = record.time->full.statistics;
    texts[1] = milliseconds_text(s.median);
    if (std::isfinite(s.ci_low))
      texts[2] = fmt::format("[{}, {}]", milliseconds_text(s.ci_low, s.median),
                             milliseconds_text(s.ci_high, s.median));
    texts[3] = fmt::format("{:.1f}", record.key.problem.nominal_flops() / s.median / 1e9);
    if (const auto percent = percent_of_ceiling(record))
      texts[4] = fmt::format("{:.1f}{}", *percent, beats_its_ceilings(record) ? "?" : "");
  }
  texts.push_back(bytes_text(record.workspace_bytes));
  const auto& error = record.accuracy.relative_l2;
  texts.push_back(error ? fmt::format("{:.1e}", *error) : kDash);
  const bool compared = baseline != nullptr && is_timed(record);
  texts.push_back(compared ? speed_up_text(record, *baseline) : kDash);
  return texts;
}

// Of a table where nothing has a time, as after `verify`: algorithm, workspace and error.
std::vector<std::string> untimed_cells(const ResultRecord& record) {
  const std::vector<std::string> all = cells(record, nullptr);
  return {all[0], all[5], all[6]};
}

// A note for each distinct refusal: the algorithms that share it, its code and sentence.
void print_reasons(std::ostream& out, const std::vector<const ResultRecord*>& records, const Look& look,
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
  for (const auto& [what, algorithms] : lines)
    print_note(out, fmt::format("{}: {}", comma_list(shortened(algorithms)), what), look, paint);
}

// Names the ranked records whose time deserves a doubt.
void print_doubts(std::ostream& out, const std::vector<Entry>& ranked, const Look& look) {
  std::vector<std::string> disturbed, throttled, unconverged, too_fast;
  const ResultRecord* most_disturbed = nullptr;
  for (const Entry& entry : ranked) {
    const ResultRecord& record = *entry.record;
    const std::string& algorithm = record.key.algorithm;
    if (standing_of(record) == Standing::throttled) throttled.push_back(algorithm);
    if (standing_of(record) == Standing::disturbed) {
      disturbed.push_back(algorithm);
      if (most_disturbed == nullptr || record.health.lost_share > most_disturbed->health.lost_share)
        most_disturbed = &record;
    }
    if (beats_its_ceilings(record)) too_fast.push_back(algorithm);
    const std::string& stop = record.time->stop_reason;
    if (stop == "time_limit" || stop == "max_samples") unconverged.push_back(algorithm);
  }
  const auto print = [&](const std::string& text) { print_note(out, text, look); };
  if (!throttled.empty()) print("throttled while measured: " + comma_list(shortened(throttled)));
  if (most_disturbed != nullptr)
    print(fmt::format("disturbed while measured: {} ({}: {})", comma_list(shortened(disturbed)),
                      most_disturbed->key.algorithm, most_disturbed->health.disturbed_by));
  if (!too_fast.empty())
    print(fmt::format("? suspect ceiling, measured too low, as {} shows: every share of it is too high",
                      comma_list(shortened(too_fast))));
  if (!unconverged.empty()) print("stopped before converging: " + comma_list(shortened(unconverged)));
}

// Returns the headings of its table that were left out.
std::vector<std::string> print_contest(std::ostream& out, const Contest& contest, const Look& look) {
  print_contest_heading(out, contest.key(), contest.first().device, look);
  const ResultRecord* baseline = contest.baseline();
  const bool timed = !contest.ranked.empty() ||
                     std::ranges::any_of(contest.wrong, [](const auto* record) { return is_timed(*record); });
  TextTable table = timed ? timed_table(baseline) : TextTable({"<algorithm", ">workspace", ">error"});
  std::vector<const ResultRecord*> refused;
  bool doubts = false, verified = false;
  for (const Entry& entry : contest.ranked) {
    const bool is_winner = entry.record == contest.winner();
    const bool is_doubtful = !is_winner && is_in_doubt(*entry.record, *contest.winner());
    doubts = doubts || is_doubtful;
    table.add(cells(*entry.record, baseline),
              is_winner     ? '*'
              : is_doubtful ? '~'
                            : ' ',
              is_winner ? colour::good : colour::none);
  }
  for (const ResultRecord* record : contest.without_time) {
    const bool is_verified = standing_of(*record) == Standing::untimed;
    verified = verified || is_verified;
    if (is_verified)
      table.add(timed ? cells(*record, nullptr) : untimed_cells(*record));
    else
      refused.push_back(record);
  }
  for (const ResultRecord* record : contest.wrong)
    table.add(timed ? cells(*record, nullptr) : untimed_cells(*record), '!', colour::bad);
  std::vector<std::string> left_out;
  if (!table.empty()) left_out = table.print(out, look);
  if (contest.ranked.empty() && !verified) out << "  no correct record\n";

  if (doubts)
    print_note(
        out,
        "~ not shown to be slower than *: their intervals overlap, or may on a quiet machine, or one has "
        "none",
        look);
  if (baseline != nullptr && std::ranges::any_of(contest.ranked, [&](const Entry& entry) {
        return is_suspect_ratio(*entry.record, *baseline);
      }))
    print_note(out, kSuspectSpeedUp, look);
  print_doubts(out, contest.ranked, look);
  print_reasons(out, contest.wrong, look, colour::bad);
  print_reasons(out, refused, look, colour::quiet);
  out << '\n';
  return left_out;
}

}  // namespace

void print_group(std::ostream& out, std::span<const ResultRecord> records, const Look& look) {
  std::vector<std::string> left_out;  // of the table that most was left out of: all leave out in one order
  for (const Contest& contest : contests(records)) {
    const std::vector<std::string> headings = print_contest(out, contest, look);
    if (headings.size() > left_out.size()) left_out = headings;
  }
  if (!left_out.empty()) fmt::print(out, "{}\n", left_out_text(left_out, look));
}

std::string progress_text(const ProgressState& state) {
  std::string text = fmt::format("[{}/{}]", state.done, state.total);
  for (const std::string* word : {&state.layer, &state.pass, &state.algorithm})
    if (!word->empty()) text += " " + *word;
  text += ", " + duration_text(state.elapsed_seconds);
  if (state.done > 0 && state.done < state.total) {
    const double each = state.elapsed_seconds / static_cast<double>(state.done);
    text += ", about " + duration_text(each * static_cast<double>(state.total - state.done)) + " left";
  }
  return text;
}

Progress::Progress(std::ostream& out, bool enabled, size_t terminal_columns)
    : out_(out), enabled_(enabled), terminal_columns_(std::max<size_t>(terminal_columns, 2)) {}

void Progress::update(std::string_view text) {
  if (!enabled_) return;
  size_t end = std::min(text.size(), terminal_columns_ - 1);
  while (end > 0 && end < text.size() && (text[end] & 0xC0) == 0x80) --end;  // no part of a UTF-8 character
  out_ << "\r\033[K" << text.substr(0, end) << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  out_ << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace convscope
