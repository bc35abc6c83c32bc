#include "bench/step/task_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/measure/statistics.hpp"

namespace convscope {
namespace {

using R = TaskRow;

Cell milliseconds(double seconds) {
  return cell(1e3 * seconds);
}
Cell median_cell(const std::optional<Statistics>& statistics) {
  return statistics ? milliseconds(statistics->median) : Cell{};
}
Cell load_units(const R& r, DeviceKind of) {
  return r.of.load && r.of.device.kind == of ? cell(r.of.load->units) : Cell{};
}
std::string candidates_text(const R& r, Samples TunedCandidate::*series) {
  std::vector<std::string> parts;
  for (const TunedCandidate& one : r.tuned)
    if (!(one.*series).empty())
      parts.push_back(fmt::format("{} {:.4g}", one.id, 1e3 * median_of(one.*series)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

constexpr ColumnOf<R> kColumns[] = {
    {"network", "", "The config's name.", [](const R& r) { return cell(r.of.network); }},
    {"batch", "", "Images of a step.", [](const R& r) { return cell(r.of.batch); }},
    {"chains", "",
     "Pieces that the network is in: how many layers read data of their own and not another layer's output.",
     [](const R& r) { return cell(r.of.chains); }},
    {"device_name", "", "The device's own name.", [](const R& r) { return cell(r.of.device.name); }},
    {"machine_class", "", "The class of machine.",
     [](const R& r) { return cell(r.of.device.machine_class); }},
    {"machine_unit", "", "Which machine of that class.",
     [](const R& r) { return cell(r.of.device.machine_unit); }},
    {"device", "", "cpu, cuda or cuda:1.", [](const R& r) { return cell(name(r.of.device.id())); }},
    {"threads", "", "OpenMP threads on the CPU; null on a GPU.",
     [](const R& r) { return r.of.device.kind == DeviceKind::cpu ? cell(r.of.threads) : Cell{}; }},
    {"workspace_cap_bytes", "bytes", "The workspace cap of a convolution; null is none.",
     [](const R& r) { return cell(r.of.workspace_cap); }},
    {"choose", "",
     "tuned: the fastest inside the step; best: of given results; model: by the cost model; a policy: what "
     "it takes of given results; else the algorithms that were asked for.",
     [](const R& r) { return cell(r.of.choose); }},
    {"position", "", "Of the task in the program, from 1; null of the whole step.",
     [](const R& r) { return r.position > 0 ? cell(r.position) : Cell{}; }},
    {"layer", "", "The layer's name.", [](const R& r) { return cell(r.layer); }},
    {"task", "",
     "A convolution's pass, an operation (backward where it says so), concat and split of what a layer reads "
     "of several, add gradient and copy gradient of an output that several layers read, loss, update; step: "
     "all of them.",
     [](const R& r) { return cell(r.task); }},
    {"problem", "", "Of a convolution: the problem, as --case reads it.",
     [](const R& r) { return r.problem ? cell(to_line(*r.problem)) : Cell{}; }},
    {"algorithm", "", "Of a convolution: what ran.", [](const R& r) { return cell(r.algorithm); }},
    {"implementation", "", "What its plan chose.", [](const R& r) { return cell(r.implementation); }},
    {"relative_l2", "", "Its error against f64 on a sample, on the tensors of the step.",
     [](const R& r) { return cell(r.relative_l2); }},
    {"samples", "", "Steps that inside_ms is the median of.", [](const R& r) { return cell(r.inside.n); }},
    {"inside_ms", "ms", "The task in the step: the median.",
     [](const R& r) { return milliseconds(r.inside.median); }},
    {"inside_low_ms", "ms", "The lower end of its 95% interval.",
     [](const R& r) { return milliseconds(r.inside.ci_low); }},
    {"inside_high_ms", "ms", "The upper end.", [](const R& r) { return milliseconds(r.inside.ci_high); }},
    {"evicted_ms", "ms", "In the step, caches emptied before each task.",
     [](const R& r) { return median_cell(r.evicted); }},
    {"own_workspace_ms", "ms", "In the step, each convolution with a workspace of its own.",
     [](const R& r) { return median_cell(r.own_workspace); }},
    {"alone_ms", "ms", "Outside the step, caches emptied before.",
     [](const R& r) { return median_cell(r.alone_cold); }},
    {"alone_low_ms", "ms", "The lower end of its 95% interval.",
     [](const R& r) { return r.alone_cold ? milliseconds(r.alone_cold->ci_low) : Cell{}; }},
    {"alone_high_ms", "ms", "The upper end.",
     [](const R& r) { return r.alone_cold ? milliseconds(r.alone_cold->ci_high) : Cell{}; }},
    {"alone_hot_ms", "ms", "Outside the step, right after another run of it.",
     [](const R& r) { return median_cell(r.alone_hot); }},
    {"inside_over_alone", "", "inside_ms / alone_ms; of the step the sums of the convolutions.",
     [](const R& r) { return cell(r.inside_over_alone()); }},
    {"clock_ratio", "", "The clock right after the task, on a GPU after the step, inside over alone.",
     [](const R& r) { return cell(r.clock_ratio); }},
    {"cause", "",
     "Where inside and alone differ: cache, workspace, clock, other; none where their intervals overlap.",
     [](const R& r) { return cell(r.cause); }},
    {"winner_alone", "", "The fastest candidate outside the step.",
     [](const R& r) { return cell(r.winner_alone); }},
    {"regret", "", "Time inside of the winner alone over that of the winner inside.",
     [](const R& r) { return cell(r.regret); }},
    {"regret_shown", "", "Whether their intervals inside are apart.",
     [](const R& r) { return cell(r.is_regret_shown); }},
    {"fused", "", "Whether bias and ReLU right after a convolution are applied by it.",
     [](const R& r) { return cell(r.of.is_fused); }},
    {"separate_algorithm", "",
     "The fastest inside whose bias and ReLU are a pass of its own; null where there is no epilogue.",
     [](const R& r) { return cell(r.separate_algorithm); }},
    {"separate_ms", "ms", "Its time, in a step in which all convolutions with an epilogue are such.",
     [](const R& r) { return median_cell(r.separate); }},
    {"separate_over_inside", "", "separate_ms / inside_ms; of the step the median of neighbours in time.",
     [](const R& r) { return cell(r.separate_over_inside); }},
    {"separate_shown", "", "Whether that is above 1 by more than the noise.",
     [](const R& r) { return cell(r.is_separate_shown_slower); }},
    {"winner_under_load", "",
     "The fastest candidate outside the step beside the load; null where there was none.",
     [](const R& r) { return cell(r.winner_under_load); }},
    {"load_slowdown", "", "Time of the winner alone beside the load over that without it.",
     [](const R& r) { return cell(r.load_slowdown); }},
    {"load_regret", "", "Beside the load, time of the winner alone over that of the winner there.",
     [](const R& r) { return cell(r.load_regret); }},
    {"load_regret_shown", "", "Whether their intervals beside the load are apart.",
     [](const R& r) { return cell(r.is_load_regret_shown); }},
    {"candidates_inside", "ms", "Each candidate that was tuned with its median inside.",
     [](const R& r) { return cell(candidates_text(r, &TunedCandidate::inside)); }},
    {"candidates_alone", "ms", "The same outside the step.",
     [](const R& r) { return cell(candidates_text(r, &TunedCandidate::alone)); }},
    {"candidates_under_load", "ms", "The same outside the step beside the load.",
     [](const R& r) { return cell(candidates_text(r, &TunedCandidate::under_load)); }},
    {"left_out", "", "Algorithms that were not tuned, and why.",
     [](const R& r) { return cell(fmt::format("{}", fmt::join(r.left_out, "; "))); }},
    {"bytes", "bytes", "Read and written at least, each tensor once.",
     [](const R& r) { return cell(r.bytes); }},
    {"gflops", "GFLOP/s", "Nominal operations of a convolution over inside_ms.",
     [](const R& r) {
       return r.problem ? cell(1e-9 * r.problem->nominal_flops() / r.inside.median) : Cell{};
     }},
    {"bandwidth_share", "", "bytes over inside_ms, as a share of the measured copy bandwidth.",
     [](const R& r) {
       return r.of.ceilings.copy_bytes > 0 && r.bytes > 0
                  ? cell(r.bytes / r.inside.median / r.of.ceilings.copy_bytes)
                  : Cell{};
     }},
    {"convolutions_ms", "ms", "Of the step: the medians of its convolutions, added up.",
     [](const R& r) { return r.convolutions_seconds ? milliseconds(*r.convolutions_seconds) : Cell{}; }},
    {"convolutions_alone_ms", "ms", "Of the step: their medians outside it, added up.",
     [](const R& r) {
       return r.convolutions_alone_seconds ? milliseconds(*r.convolutions_alone_seconds) : Cell{};
     }},
    {"directional_error", "", "Of the step: the gradient against central differences of the loss.",
     [](const R& r) { return cell(r.directional_error); }},
    {"loss", "", "Of the step: the sum of its chains' losses, in the last one.",
     [](const R& r) { return cell(r.loss); }},
    {"tuning_rounds", "", "Of the step: rounds of tuning, samples of a candidate alone.",
     [](const R& r) { return r.tuning_rounds > 0 ? cell(r.tuning_rounds) : Cell{}; }},
    {"load_gbs", "GB/s", "Of the step: what the load was to read and write.",
     [](const R& r) { return r.of.load ? cell(1e-9 * r.of.load->bytes_per_second) : Cell{}; }},
    {"load_threads", "", "Of the step: on so many threads of a CPU.",
     [](const R& r) { return load_units(r, DeviceKind::cpu); }},
    {"load_multiprocessors", "", "Of the step: on so many multiprocessors of a GPU.",
     [](const R& r) { return load_units(r, DeviceKind::cuda); }},
    {"load_measured_gbs", "GB/s", "Of the step: what it read and wrote while it was on.",
     [](const R& r) { return r.load_bytes_per_second ? cell(1e-9 * *r.load_bytes_per_second) : Cell{}; }},
    {"disturbed", "", "Of the step: samples that were disturbed twice and kept; a step is one sample.",
     [](const R& r) { return r.position > 0 ? Cell{} : cell(r.disturbed); }},
    {"rerun", "", "The command that measures the step again.", [](const R& r) { return cell(r.of.rerun); }},
};

bool overlap(const Statistics& a, const Statistics& b) {
  return !(a.ci_low > b.ci_high || b.ci_low > a.ci_high);
}

std::optional<Statistics> summary(const Samples& samples) {
  return samples.empty() ? std::nullopt : std::optional(summarise(samples));
}

// The circumstance that, taken away, takes most of the difference away; at least half of it.
Cause cause_of(const TaskRow& row) {
  const double difference = row.inside.median - row.alone_cold->median;
  if (overlap(row.inside, *row.alone_cold)) return Cause::none;
  const auto explained = [&](double by) { return by / difference; };
  Cause cause = Cause::other;
  double most = 0.5;
  const auto offer = [&](Cause candidate, double share) {
    if (share > most) {
      most = share;
      cause = candidate;
    }
  };
  offer(Cause::cache, explained(row.inside.median - row.evicted->median));
  if (row.own_workspace) offer(Cause::workspace, explained(row.inside.median - row.own_workspace->median));
  if (row.clock_ratio) offer(Cause::clock, explained(row.alone_cold->median * (1 / *row.clock_ratio - 1)));
  return cause;
}

void add_convolution(TaskRow& row, const TaskTimes& times) {
  const TunedCandidate& winner = times.tuned[times.winner_inside];
  row.algorithm = winner.id;
  row.implementation = winner.implementation;
  row.relative_l2 = winner.relative_l2;
  row.alone_cold = summary(times.alone_cold);
  row.alone_hot = summary(times.alone_hot);
  if (const double alone = median_of(times.clock_alone); alone > 0)
    row.clock_ratio = median_of(times.clock_inside) / alone;
  row.cause = cause_of(row);
  row.tuned = times.tuned;
  row.left_out = times.left_out;
  if (times.winner_separate) {
    row.separate_algorithm = times.tuned[*times.winner_separate].id;
    row.separate = summarise(times.separate);
    row.separate_over_inside = row.separate->median / row.inside.median;
    row.is_separate_shown_slower = row.separate->ci_low > row.inside.ci_high;
  }
  if (winner.inside.empty()) return;
  const TunedCandidate& alone = times.tuned[times.winner_alone];
  row.winner_alone = alone.id;
  const Statistics of_alone = summarise(alone.inside), of_inside = summarise(winner.inside);
  row.regret = of_alone.median / of_inside.median;
  row.is_regret_shown = of_alone.ci_low > of_inside.ci_high;
  if (alone.under_load.empty()) return;
  const TunedCandidate& loaded = times.tuned[times.winner_under_load];
  const Statistics alone_loaded = summarise(alone.under_load), best_loaded = summarise(loaded.under_load);
  row.winner_under_load = loaded.id;
  row.load_regret = alone_loaded.median / best_loaded.median;
  row.is_load_regret_shown = alone_loaded.ci_low > best_loaded.ci_high;
  row.load_slowdown = alone_loaded.median / median_of(alone.alone);
}

// Of steps that are neighbours in time.
Statistics ratio_of(const Samples& other, const Samples& step) {
  Samples ratios;
  for (size_t i = 0; i < step.size(); ++i) ratios.push_back(other[i] / step[i]);
  return summarise(ratios);
}

TaskRow step_row(const StepRun& of, const std::vector<TaskRow>& rows, const StepTimes& times) {
  TaskRow row;
  row.of = of;
  row.task = "step";
  row.inside = summarise(times.step);
  row.directional_error = times.directional_error;
  row.loss = times.loss;
  row.disturbed = times.disturbed;
  row.tuning_rounds = times.tuning_rounds;
  if (of.load) row.load_bytes_per_second = times.load_bytes_per_second;
  double inside = 0, alone = 0;
  for (const TaskRow& one : rows) {
    row.bytes += one.bytes;
    if (!one.problem) continue;
    inside += one.inside.median;
    alone += one.alone_cold->median;
  }
  row.convolutions_seconds = inside;
  row.convolutions_alone_seconds = alone;
  if (!times.step_of_separate.empty()) {
    const Statistics ratio = ratio_of(times.step_of_separate, times.step);
    row.separate = summarise(times.step_of_separate);
    row.separate_over_inside = ratio.median;
    row.is_separate_shown_slower = ratio.ci_low > 1;
  }
  if (times.step_of_winners_alone.empty()) return row;
  const Statistics ratio = ratio_of(times.step_of_winners_alone, times.step);
  row.regret = ratio.median;
  row.is_regret_shown = ratio.ci_low > 1;
  return row;
}

}  // namespace

std::string_view name(Cause cause) {
  constexpr std::string_view names[] = {"none", "cache", "workspace", "clock", "other"};
  return names[static_cast<size_t>(cause)];
}

std::optional<double> TaskRow::inside_over_alone() const {
  if (convolutions_alone_seconds) return *convolutions_seconds / *convolutions_alone_seconds;
  return alone_cold ? std::optional(inside.median / alone_cold->median) : std::nullopt;
}

std::span<const ColumnOf<TaskRow>> task_columns() {
  return kColumns;
}

std::vector<TaskRow> task_rows(const StepRun& of, const TrainingStep& step, const StepTimes& times) {
  std::vector<TaskRow> rows;
  for (size_t i = 0; i < step.tasks().size(); ++i) {
    const StepTask& task = step.tasks()[i];
    TaskRow row;
    row.of = of;
    row.position = static_cast<int64_t>(i) + 1;
    row.layer = step.network().layers[task.layer].name;
    row.task = task.label;
    row.problem = task.problem;
    row.bytes = task.bytes;
    row.inside = summarise(times.tasks[i].inside);
    row.evicted = summary(times.tasks[i].evicted);
    row.own_workspace = summary(times.tasks[i].own_workspace);
    if (task.problem) add_convolution(row, times.tasks[i]);
    rows.push_back(std::move(row));
  }
  rows.push_back(step_row(of, rows, times));
  return rows;
}

std::string task_format_markdown() {
  return "# Columns of tasks.csv\n\nMade by `convscope list columns tasks --markdown` from the program's own "
         "table; a test fails when this file differs.\n\n"
         "`convscope step CONFIG --out DIR` writes a row for each task of a training step that it runs in "
         "one process, and last one for\n"
         "the step ([step.md](step.md)). `tasks.json` holds the same rows under the same names. Empty is "
         "null.\n\n" +
         columns_markdown(task_columns());
}

}  // namespace convscope
