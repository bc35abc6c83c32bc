#include "bench/parallel/schedule/step_report.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/parallel/allreduce/reduction_report.hpp"
#include "bench/parallel/network/model_error.hpp"

namespace convscope {
namespace {

std::string reduce_text(const StepCase& of) {
  return of.reduce() + (of.compression == Compression::one_bit ? ", 1bit" : "");
}
std::string speed_up_text(const StepRow& row) {
  const auto speed_up = row.speed_up();
  return speed_up ? fmt::format("{:.2f}x", *speed_up) : kDash;
}
std::string batch_text(const StepCase& of) {
  return fmt::format("{}", of.batch);
}
std::string gpus_text(const StepCase& of) {
  return fmt::format("{}", of.fleet.ranks.count);
}

void print_table(std::ostream& out, const std::string& title, const std::string& below, Basis basis,
                 const TextTable& table, const Look& look) {
  if (table.empty()) return;
  print_heading(out, title, below, look);
  const auto left_out = table.print(out, look);
  fmt::print(out, "{}{}\n", left_out_text(left_out, look),
             basis == Basis::modelled ? model_error_text(kStepError, look) : "");
}

std::string interval_text(const StepRow& row) {
  if (!row.lowest || !row.highest) return kDash;
  const double step = row.schedule.step_seconds;
  return fmt::format("[{}, {}]", milliseconds_text(*row.lowest, step), milliseconds_text(*row.highest, step));
}

// The closed form's step, and how much longer the simulated one takes.
std::vector<std::string> closed_form_cells(const StepRow& row) {
  if (!row.closed_form_seconds) return {kDash, kDash};
  const double longer = row.schedule.step_seconds / *row.closed_form_seconds - 1;
  const double percent = std::round(1e4 * longer) / 100 + 0.0;  // no -0
  return {milliseconds_text(*row.closed_form_seconds), fmt::format("{:+.2f}%", percent)};
}

TextTable scaling_table(std::span<const StepRow> rows) {
  const bool is_simulated =
      std::ranges::any_of(rows, [](const StepRow& row) { return row.closed_form_seconds.has_value(); });
  std::vector<std::string> headings{">batch",
                                    ">GPUs",
                                    "<reduce",
                                    "<overlap",
                                    ">step ms|step",
                                    ">interval",
                                    ">compute ms|compute",
                                    ">comm. ms|comm.",
                                    ">exposed ms|exposed",
                                    ">speed-up",
                                    ">images/s"};
  if (is_simulated)
    headings.insert(headings.end(), {">closed form ms|closed form", ">simulated longer by|longer"});
  TextTable table(std::move(headings), {5, 10, 7, 6});
  for (const StepRow& row : rows) {
    if (!row.has_time()) continue;
    const Schedule& step = row.schedule;
    std::vector<std::string> cells{
        batch_text(row.of),
        gpus_text(row.of),
        row.of.fleet.ranks.count == 1 ? kDash : reduce_text(row.of),
        row.of.fleet.ranks.count == 1 ? kDash : text(row.of.overlap),
        milliseconds_text(step.step_seconds),
        interval_text(row),
        milliseconds_text(step.compute_seconds),
        milliseconds_text(step.communication_seconds),
        milliseconds_text(step.exposed_seconds()),
        speed_up_text(row),
        fmt::format("{:.0f}", static_cast<double>(row.of.batch) / step.step_seconds)};
    if (is_simulated)
      for (std::string& one : closed_form_cells(row)) cells.push_back(std::move(one));
    table.add(std::move(cells));
  }
  return table;
}

// Rows that agree in all but what `but` leaves out of the key.
template <typename Key>
std::map<Key, std::vector<const StepRow*>> grouped(std::span<const StepRow> rows,
                                                   Key (*key)(const StepRow&)) {
  std::map<Key, std::vector<const StepRow*>> groups;
  for (const StepRow& row : rows)
    if (row.has_time() && row.of.fleet.ranks.count > 1) groups[key(row)].push_back(&row);
  return groups;
}

using OverlapKey = std::tuple<int64_t, int, std::string, Compression>;
TextTable overlap_table(std::span<const StepRow> rows) {
  TextTable table({">batch", ">GPUs", "<reduce", "<overlap", ">reductions", ">comm. ms|comm.",
                   ">exposed ms|exposed", ">hidden", ">step ms|step", ">vs none"},
                  {4, 5});
  const auto key = +[](const StepRow& row) {
    return OverlapKey(row.of.batch, row.of.fleet.ranks.count, row.of.reduce(), row.of.compression);
  };
  for (const auto& [of, group] : grouped<OverlapKey>(rows, key)) {
    if (group.size() < 2) continue;
    const auto none = std::ranges::find_if(
        group, [](const StepRow* row) { return row->of.overlap.kind == OverlapKind::none; });
    for (const StepRow* row : group) {
      const Schedule& step = row->schedule;
      table.add(
          {batch_text(row->of), gpus_text(row->of), reduce_text(row->of), text(row->of.overlap),
           fmt::format("{}", step.reductions), milliseconds_text(step.communication_seconds),
           milliseconds_text(step.exposed_seconds()), fmt::format("{:.0f}%", 100 * step.overlap_efficiency()),
           milliseconds_text(step.step_seconds),
           none == group.end() ? kDash
                               : fmt::format("{:.2f}x", (*none)->schedule.step_seconds / step.step_seconds)});
    }
  }
  return table;
}

using CompressionKey = std::tuple<int64_t, int, std::string>;
TextTable compression_table(std::span<const StepRow> rows) {
  TextTable table({">batch", ">GPUs", "<overlap", "<reduce", ">sent by a GPU", ">comm. ms|comm.",
                   ">step ms|step", ">speed-up", ">vs 1bit"},
                  {5});
  const auto key = +[](const StepRow& row) {
    return CompressionKey(row.of.batch, row.of.fleet.ranks.count, text(row.of.overlap));
  };
  for (const auto& [of, group] : grouped<CompressionKey>(rows, key)) {
    const auto coded = std::ranges::find_if(
        group, [](const StepRow* row) { return row->of.compression == Compression::one_bit; });
    if (coded == group.end() || group.size() < 2) continue;
    for (const StepRow* row : group) {
      const Schedule& step = row->schedule;
      table.add({batch_text(row->of), gpus_text(row->of), text(row->of.overlap), reduce_text(row->of),
                 bytes_text(row->busiest_bytes), milliseconds_text(step.communication_seconds),
                 milliseconds_text(step.step_seconds), speed_up_text(*row),
                 fmt::format("{:.2f}x", step.step_seconds / (*coded)->schedule.step_seconds)});
    }
  }
  return table;
}

// A measured step's tensors are where the task before left them.
std::string compute_text(const StepRow& row, bool has_operations) {
  if (row.of.fleet.basis != Basis::measured)
    return circumstances(row.circumstances, row.device) +
           (has_operations ? "; with what stands between the convolutions, but the loss"
                           : "; the convolutions alone (--operations adds what stands between them)");
  const CaseKey& key = row.circumstances;
  return fmt::format("{} {}, {} a rank, {}", name(key.problem.math), name(key.problem.layout),
                     counted(key.threads, "thread"), device_text(key, row.device));
}

void print_refusals(std::ostream& out, std::span<const StepRow> rows, const Look& look) {
  std::set<std::string> said;
  for (const StepRow& row : rows) {
    const std::string what = fmt::format(
        "batch {} on {}{}: ", row.of.batch, counted(row.of.fleet.ranks.count, "GPU"),
        row.reason == "not_power_of_two" || row.reason == "uneven_nodes" ? ", " + reduce_text(row.of) : "");
    if (row.note.empty() || !said.insert(what + row.note).second) continue;
    const std::string reason = row.reason.empty() ? "" : row.reason + ": ";
    fmt::print(out, "{}\n", wrapped(what + reason + row.note, look.columns, "  "));
    if ((row.reason == "no_rows" || row.reason == "no_operations") && said.insert(row.rerun).second)
      fmt::print(out, "    {}\n", row.rerun);
  }
}

}  // namespace

void print_steps(std::ostream& out, std::span<const StepRow> rows, const Look& look) {
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    const auto scope = [](const StepRow& row) {
      return std::pair(row.of.choose, circumstances(row.circumstances, row.device));
    };
    for (end = begin; end < rows.size() && scope(rows[end]) == scope(rows[begin]); ++end) {
    }
    const auto part = rows.subspan(begin, end - begin);
    const StepRow& first = part.front();
    Fleet links = first.of.fleet;
    // The most, so that nodes are named where there are several.
    const auto ranks_of = [](const StepRow& row) { return row.of.fleet.ranks.count; };
    links.ranks = std::ranges::max_element(part, {}, ranks_of)->of.fleet.ranks;
    const bool has_operations =
        std::ranges::any_of(part, [](const StepRow& row) { return row.operation_seconds.has_value(); });
    const std::string below =
        "compute: " + compute_text(first, has_operations) + "\ncommunication: " + words_of(links);
    const std::string title = fmt::format("{}, {} scaling, {}{}; times in ms", first.of.network,
                                          first.of.is_weak ? "weak" : "strong",
                                          first.of.choose == kBest ? "best of each layer" : first.of.choose,
                                          first.of.is_fused ? ", bias and ReLU fused" : "");
    print_table(out, "scaling: " + title, below, links.basis, scaling_table(part), look);
    print_table(out, "overlap: " + title, below, links.basis, overlap_table(part), look);
    print_table(out, "compression: " + title, below, links.basis, compression_table(part), look);
    print_refusals(out, part, look);
    int64_t disturbed = 0;
    for (const StepRow& row : part) disturbed += row.disturbed.value_or(0);
    print_disturbed(out, disturbed, look);
    if (std::ranges::any_of(part, &StepRow::suspect))
      out << "  some records that compute is from were throttled or disturbed (column suspect)\n";
  }
}

nlohmann::ordered_json chrome_trace(std::span<const StepRow> rows) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  int process = 0;
  for (const StepRow& row : rows) {
    if (!row.has_time()) continue;
    ++process;
    const auto call = [&](const char* what, int thread, const std::string& called) {
      events.push_back(
          {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", called}}}});
    };
    call("process_name", 0,
         fmt::format("{} batch {} on {} GPUs, {}, overlap {}, {}", row.of.network, row.of.batch,
                     row.of.fleet.ranks.count, reduce_text(row.of), text(row.of.overlap), row.of.choose));
    call("thread_name", 1, "compute");
    call("thread_name", 2, "communication");
    for (const Span& span : row.schedule.spans) {
      if (span.end <= span.begin) continue;  // a reduction on one GPU
      Json event{{"name", span.name},
                 {"cat", span.is_communication ? "communication" : "compute"},
                 {"ph", "X"},
                 {"ts", 1e6 * span.begin},
                 {"dur", 1e6 * (span.end - span.begin)},
                 {"pid", process},
                 {"tid", span.is_communication ? 2 : 1}};
      if (span.is_communication) event["args"] = {{"bytes", span.bytes}};
      events.push_back(std::move(event));
    }
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

}  // namespace convscope
