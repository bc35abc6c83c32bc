// One row of a training step that was run: a task, or of a kind `step` the sum of all. Plain data, its
// columns and how rows are made of measured times.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/core/device_info.hpp"
#include "bench/record/cells.hpp"
#include "bench/step/measure_step.hpp"

namespace convscope {

// What all rows of a step have in common.
struct StepRun {
  std::string network;
  int64_t batch = 1;
  int64_t chains = 1;
  int threads = 1;
  std::string choose;  // "tuned", "best", "model", a policy or algorithms
  std::optional<int64_t> workspace_cap;
  DeviceInfo device;
  Ceilings ceilings;
  bool is_fused = false;  // bias and ReLU right after a convolution are its epilogue
  std::optional<LoadRate> load;
  std::string rerun;
};

// Where a difference between inside and alone lies. cache: it goes when caches are emptied before the task.
// workspace: it goes when the task has a workspace of its own. clock: the processor's clock differs by as
// much. other: none of these. none: the intervals of inside and alone overlap.
enum class Cause { none, cache, workspace, clock, other };
inline constexpr auto kCauses = enumerators<Cause::other>();
std::string_view name(Cause);  // as spelled above

struct TaskRow {
  StepRun of;
  int64_t position = 0;  // in the program, from 1; 0 of the whole step
  std::string layer, task;
  std::optional<ConvProblem> problem;
  double bytes = 0;
  // Of a convolution: of the winner inside.
  std::string algorithm, implementation;
  std::optional<double> relative_l2;
  Statistics inside;
  std::optional<Statistics> evicted, own_workspace, alone_cold, alone_hot;  // null where there is none
  std::optional<double> clock_ratio;                                        // median inside / median alone
  std::optional<Cause> cause;
  // Of a convolution that was tuned, and of the step: the winner alone, and the time inside of it over that
  // of the winner inside, whether it is shown to be above 1.
  std::string winner_alone;
  std::optional<double> regret;
  std::optional<bool> is_regret_shown;
  // Of a convolution that was tuned beside a load: the winner there, the time there of the winner alone over
  // its own, whether that is shown to be above 1, and over its time without the load.
  std::string winner_under_load;
  std::optional<double> load_regret, load_slowdown;
  std::optional<bool> is_load_regret_shown;
  // Of a convolution with an epilogue that was tuned, and of the step: the fastest inside whose epilogue is a
  // pass of its own, in a step of such; its time over that of the winner inside, and whether that is shown to
  // be above 1.
  std::string separate_algorithm;
  std::optional<Statistics> separate;
  std::optional<double> separate_over_inside;
  std::optional<bool> is_separate_shown_slower;
  std::vector<TunedCandidate> tuned;
  std::vector<std::string> left_out;
  // Of the step alone.
  std::optional<double> convolutions_seconds, convolutions_alone_seconds;  // sums of medians
  std::optional<double> directional_error, loss, load_bytes_per_second;
  int64_t disturbed = 0, tuning_rounds = 0;

  std::optional<double> inside_over_alone() const;
};

std::span<const ColumnOf<TaskRow>> task_columns();

// A row a task, in the program's order, and last that of the step.
std::vector<TaskRow> task_rows(const StepRun& of, const TrainingStep& step, const StepTimes& times);

// docs/task_format.md: the columns of tasks.csv.
std::string task_format_markdown();

}  // namespace convscope
