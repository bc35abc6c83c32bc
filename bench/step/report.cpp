#include "bench/step/report.hpp"

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

// Other operations that take less of the step are summed up in a line.
constexpr double kShownShare = 0.001;

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "-";
}

std::string winner_alone_text(const TaskRow& row) {
  if (row.winner_alone.empty()) return "-";
  if (row.winner_alone == row.algorithm) return "the same";
  return fmt::format("{} ({}{:.3f}x)", row.winner_alone,
                     row.is_regret_shown.value_or(false) ? "" : "not shown, ", *row.regret);
}

void print_left_out(std::ostream& out, const TextTable& table, const Look& look) {
  const auto left_out = table.print(out, look);
  fmt::print(out, "{}\n", left_out_text(left_out, look));
}

void print_convolutions(std::ostream& out, std::span<const TaskRow> rows, const Look& look) {
  const TaskRow& step = rows.back();
  const StepRun& of = step.of;
  print_heading(
      out,
      fmt::format("A training step of {}, batch {}: convolutions inside it and alone, in ms", of.network,
                  of.batch),
      fmt::format("fp32 nchw, {}{}{}{}",
                  of.device.kind == DeviceKind::cpu ? counted(of.threads, "thread") + ", " : "",
                  of.device.name, of.is_fused ? "; bias and ReLU fused into the convolution" : "",
                  of.chains == 1
                      ? ""
                      : fmt::format("; {} chains, as layers do not read another's output", of.chains)),
      look);
  TextTable table({"<layer", "<pass", "<algorithm", ">inside ms|inside", ">alone ms|alone", ">hot ms|hot",
                   ">inside / alone|ratio", "<cause", "<winner alone, its time inside|winner alone"},
                  {5, 8});
  for (const TaskRow& row : rows)
    if (row.problem)
      table.add({row.layer, row.task, row.algorithm, milliseconds_text(row.inside.median),
                 milliseconds_text(row.alone_cold->median, row.inside.median),
                 milliseconds_text(row.alone_hot->median, row.inside.median),
                 ratio_text(row.inside_over_alone()), std::string(name(*row.cause)), winner_alone_text(row)});
  print_left_out(out, table, look);
}

void print_others(std::ostream& out, std::span<const TaskRow> rows, const Look& look) {
  const double step = rows.back().inside.median;
  TextTable table(
      {"<layer", "<task", ">ms", ">of the step|step", ">GB/s", ">of the copy bandwidth|bandwidth"});
  double small = 0;
  for (const TaskRow& row : rows.first(rows.size() - 1)) {
    if (row.problem) continue;
    const double seconds = row.inside.median;
    if (seconds < kShownShare * step) {
      small += seconds;
      continue;
    }
    const double rate = row.bytes / seconds;
    const double ceiling = row.of.ceilings.copy_bytes;
    table.add({row.layer, row.task, milliseconds_text(seconds), percent_text(seconds / step),
               fmt::format("{:.1f}", 1e-9 * rate), ceiling > 0 ? percent_text(rate / ceiling) : "-"});
  }
  print_heading(out, "What stands between them", "", look);
  print_left_out(out, table, look);
  if (small > 0)
    fmt::print(out, "{} ms in tasks of less than {} each\n\n", milliseconds_text(small),
               percent_text(kShownShare));
}

// How many convolutions have another winner inside than alone.
void print_winners(std::ostream& out, std::span<const TaskRow> rows) {
  const TaskRow& step = rows.back();
  int64_t tuned = 0, others = 0, shown = 0;
  for (const TaskRow& row : rows) {
    if (row.winner_alone.empty()) continue;
    ++tuned;
    others += row.winner_alone != row.algorithm;
    shown += row.is_regret_shown.value_or(false);
  }
  if (tuned == 0) return;
  fmt::print(
      out,
      "Of {} convolutions with several candidates, {} have another winner inside than alone, {} of them\n"
      "by more than the noise. ",
      tuned, others, shown);
  if (step.regret)
    fmt::print(out, "A step with the winners alone takes {:.3f} times as long{}.\n", *step.regret,
               *step.is_regret_shown ? "" : ", not shown to be more than 1");
  else
    fmt::print(out, "A step with the winners alone is the same step.\n");
}

// What the load does to the winners alone, and whether others win beside it.
void print_load(std::ostream& out, std::span<const TaskRow> rows) {
  const TaskRow& step = rows.back();
  if (!step.of.load) return;
  int64_t tuned = 0, others = 0, shown = 0;
  double without = 0, with = 0;
  for (const TaskRow& row : rows) {
    if (row.winner_under_load.empty()) continue;
    ++tuned;
    others += row.winner_under_load != row.winner_alone;
    shown += *row.is_load_regret_shown;
    without += row.alone_cold->median;
    with += row.alone_cold->median * *row.load_slowdown;
  }
  if (tuned == 0) return;
  fmt::print(out,
             "Beside a load of {:.3g} GB/s on {} ({:.3g} asked for) the winners alone take {:.3f} times as "
             "long;\n{} of {} convolutions have another winner there, {} of them by more than the noise.\n",
             1e-9 * *step.load_bytes_per_second, counted(step.of.load->units, load_unit(step.of.device.kind)),
             1e-9 * step.of.load->bytes_per_second, with / without, others, tuned, shown);
}

// What fusing gains, where epilogues were fused.
void print_separate(std::ostream& out, std::span<const TaskRow> rows) {
  const TaskRow& step = rows.back();
  if (!step.separate) return;
  int64_t count = 0, shown = 0;
  double fused = 0, separate = 0;
  for (const TaskRow& row : rows.first(rows.size() - 1)) {
    if (!row.separate) continue;
    ++count;
    shown += *row.is_separate_shown_slower;
    fused += row.inside.median;
    separate += row.separate->median;
  }
  fmt::print(out,
             "With bias and ReLU in a pass of their own the {} convolutions before them take {:.3f} times as "
             "long ({} of them by\nmore than the noise), and the step {:.3f} times{}.\n",
             count, separate / fused, shown, *step.separate_over_inside,
             *step.is_separate_shown_slower ? "" : ", not shown to be more than 1");
}

void print_causes(std::ostream& out, std::span<const TaskRow> rows) {
  for (Cause cause : kCauses) {
    double seconds = 0;
    int64_t count = 0;
    for (const TaskRow& row : rows) {
      if (row.cause != cause) continue;
      seconds += row.inside.median - row.alone_cold->median;
      ++count;
    }
    if (count > 0 && cause != Cause::none)
      fmt::print(out, "  {:<10} {:+.3g} ms over {}\n", name(cause), 1e3 * seconds,
                 counted(count, "convolution"));
  }
}

void print_sums(std::ostream& out, std::span<const TaskRow> rows) {
  const TaskRow& step = rows.back();
  const double others = step.inside.median - *step.convolutions_seconds;
  fmt::print(out, "Step {} ms [{}, {}], {:.3g} images/s: convolutions {} ms, all else {} ms.\n",
             milliseconds_text(step.inside.median), milliseconds_text(step.inside.ci_low, step.inside.median),
             milliseconds_text(step.inside.ci_high, step.inside.median),
             static_cast<double>(step.of.batch) / step.inside.median,
             milliseconds_text(*step.convolutions_seconds), milliseconds_text(others));
  fmt::print(
      out, "Alone, caches emptied before, the convolutions take {} ms: inside they take {:.3f} times that.\n",
      milliseconds_text(*step.convolutions_alone_seconds), *step.inside_over_alone());
  print_causes(out, rows);
  print_winners(out, rows);
  print_separate(out, rows);
  print_load(out, rows);
  fmt::print(out,
             "Gradient against differences of the loss: {:.2g}. Largest error of a convolution: {:.2g}.\n",
             *step.directional_error, [&] {
               double largest = 0;
               for (const TaskRow& row : rows) largest = std::max(largest, row.relative_l2.value_or(0));
               return largest;
             }());
  const std::string disturbed = counted(step.disturbed, "sample");
  if (step.disturbed > 0 && step.of.device.kind == DeviceKind::cpu)
    fmt::print(out,
               "The machine was not quiet: {} lost time to other programs or had threads that share a "
               "core, twice each.\n",
               disturbed);
  else if (step.disturbed > 0)
    fmt::print(out, "The device's clock was low, or other programs used it, before {}, twice each.\n",
               disturbed);
  if (has_virtual_time(step.of.device)) out << kVirtualTime;
}

}  // namespace

void print_step(std::ostream& out, std::span<const TaskRow> rows, const Look& look) {
  print_convolutions(out, rows, look);
  print_others(out, rows, look);
  print_sums(out, rows);
}

nlohmann::ordered_json chrome_trace(std::span<const TaskRow> rows) {
  auto events = nlohmann::ordered_json::array();
  double at = 0;
  for (const TaskRow& row : rows.first(rows.size() - 1)) {
    const double microseconds = 1e6 * row.inside.median;
    events.push_back({{"name", row.layer + " " + row.task},
                      {"ph", "X"},
                      {"ts", at},
                      {"dur", microseconds},
                      {"pid", 0},
                      {"tid", 0},
                      {"args", {{"algorithm", row.algorithm}}}});
    at += microseconds;
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

}  // namespace convscope
