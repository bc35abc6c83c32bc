#include "bench/step/measure_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "bench/core/error.hpp"
#include "bench/device/device_error.hpp"
#include "bench/record/result_files.hpp"
#include "bench/step/report.hpp"
#include "bench/step/task_row.hpp"
#include "bench/step/test_steps.hpp"

namespace convscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A measured step of the small network, as short as can be, and its rows.
struct Measured {
  explicit Measured(std::vector<std::string> algorithms, Chooser choose = {}, bool fuse = false)
      : step(network_of(testing::small_suite(), 2, fuse), device, 1) {
    const Registry registry = testing::step_registry();
    MeasureStepOptions options;
    options.algorithms = std::move(algorithms);
    options.choose = std::move(choose);
    options.seconds = 0;
    times = measure_step(step, registry, device, options);
    StepRun run;
    run.network = "small";
    run.batch = 2;
    run.choose = "tuned";
    rows = task_rows(run, step, times);
  }
  CpuDevice device;
  TrainingStep step;
  StepTimes times;
  std::vector<TaskRow> rows;
};

TEST(MeasureStep, TunesWhatIsRightAndNamesWhatIsNot) {
  const Measured measured({"exact.cpu", "same.cpu", "wrong.cpu", "forward.cpu"});
  for (size_t i = 0; i < measured.step.tasks().size(); ++i) {
    const TaskTimes& times = measured.times.tasks[i];
    EXPECT_EQ(times.inside.size(), 6U);
    EXPECT_EQ(times.evicted.size(), 6U);
    EXPECT_EQ(times.own_workspace.size(), 6U);
    if (!measured.step.tasks()[i].problem) {
      EXPECT_TRUE(times.tuned.empty());
      continue;
    }
    const bool is_forward = measured.step.tasks()[i].kind == TaskKind::forward;
    EXPECT_THAT(times.left_out, Contains(HasSubstr("wrong.cpu: wrong: the relative L2 error")));
    EXPECT_EQ(times.left_out.size() + times.tuned.size(), 4U);
    if (!is_forward) {
      EXPECT_THAT(times.left_out, Contains("forward.cpu: it has one pass"));
    }
    EXPECT_EQ(times.alone_cold.size(), 6U);
    for (const TunedCandidate& one : times.tuned) {
      EXPECT_EQ(one.inside.empty(), times.tuned.size() == 1);
      if (times.tuned.size() == 1) continue;
      EXPECT_EQ(one.alone.size(), 6U) << "a sample a round";
      EXPECT_GE(one.inside.size(), 6U);
      EXPECT_TRUE(one.under_load.empty());
    }
  }
  EXPECT_LT(measured.times.directional_error, 2e-3);
  EXPECT_EQ(measured.times.step.size(), 6U);
}

TEST(MeasureStep, RunsCandidatesBesideALoadOnceMoreWhereItIsAskedFor) {
  CpuDevice device;
  if (device.info().cores < 2) GTEST_SKIP() << "the load needs a core of its own";
  TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  MeasureStepOptions options;
  options.algorithms = {"exact.cpu", "same.cpu"};
  options.seconds = 0;
  options.load = LoadRate{1e9, 1};
  const StepTimes times = measure_step(step, testing::step_registry(), device, options);
  StepRun run;
  run.load = options.load;
  const std::vector<TaskRow> rows = task_rows(run, step, times);
  EXPECT_GT(*rows.back().load_bytes_per_second, 0);
  EXPECT_EQ(rows.back().tuning_rounds, 6);
  for (const TaskRow& row : rows) {
    EXPECT_EQ(row.winner_under_load.empty(), row.tuned.size() < 2);
    if (row.tuned.size() < 2) continue;
    EXPECT_GE(*row.load_regret, 1);
    EXPECT_GT(*row.load_slowdown, 0);
    for (const TunedCandidate& one : row.tuned) EXPECT_EQ(one.under_load.size(), one.alone.size());
  }
  std::ostringstream out;
  print_step(out, rows, Look(false, 200));
  EXPECT_THAT(out.str(), HasSubstr("Beside a load of "));
}

TEST(MeasureStep, TakesWhatIsChosenAndTunesNothing) {
  const Measured measured({"exact.cpu", "same.cpu"}, [](const ConvProblem&, const TaskCandidates& found) {
    return std::optional(found.all.size() - 1);
  });
  EXPECT_EQ(measured.times.tuning_rounds, 0);
  for (const TaskTimes& times : measured.times.tasks)
    for (const TunedCandidate& one : times.tuned) EXPECT_EQ(one.id, "same.cpu");
  EXPECT_TRUE(measured.times.step_of_winners_alone.empty());
}

TEST(MeasureStep, CountsSamplesWhoseThreadsHadBetterCoresBefore) {
  CpuDevice device;
  TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  MeasureStepOptions options;
  options.algorithms = {"exact.cpu"};
  options.seconds = 0;
  options.known_cores.multiply_add_rate =
      1e30;  // more than any processor's: all readings are of shared cores
  // Six rounds of four steps or of runs alone, cold and hot, of five convolutions.
  EXPECT_EQ(measure_step(step, testing::step_registry(), device, options).disturbed, 6 * (3 + 2 * 5));
}

TEST(MeasureStep, EndsAfterTheRoundInWhichTheUserStops) {
  CpuDevice device;
  TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  MeasureStepOptions options;
  options.algorithms = {"exact.cpu", "same.cpu"};
  bool is_stopped = true;
  options.stopped = [&] { return is_stopped; };
  EXPECT_THROW(measure_step(step, testing::step_registry(), device, options), StoppedEarly);
  is_stopped = false;
  options.progress = [&](const std::string& stage) {
    is_stopped = is_stopped || stage.starts_with("tuning");
  };
  const StepTimes times = measure_step(step, testing::step_registry(), device, options);
  EXPECT_LE(times.tuning_rounds, 1);
  EXPECT_EQ(times.step.size(), 1U);
  EXPECT_EQ(task_rows({}, step, times).size(), step.tasks().size() + 1);
}

TEST(MeasureStep, RefusesATaskThatNothingCanRun) {
  EXPECT_THAT([] { Measured({"forward.cpu"}); },
              ::testing::ThrowsMessage<UsageError>(HasSubstr(
                  "two backward_filter: no algorithm that was asked for can run it; forward.cpu: it has")));
}

// The definition, which throws in its second run.
template <typename Error>
class Failing final : public Algorithm {
 public:
  explicit Failing(const std::string& id) : inner_(id) {}
  const AlgorithmInfo& info() const override { return inner_.info(); }
  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    return inner_.takes(problem, device);
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<FailingPlan>(inner_.plan(problem, device, options));
  }

 private:
  struct FailingPlan final : Plan {
    explicit FailingPlan(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
    int64_t workspace_bytes() const override { return plan_->workspace_bytes(); }
    void run(const ConvArgs& args, Queue& queue) override {
      if (runs_++ == 1) throw Error("out of places");
      plan_->run(args, queue);
    }
    std::unique_ptr<Plan> plan_;
    int runs_ = 0;
  };
  testing::ScaledReference inner_;
};

TEST(MeasureStep, LeavesOutWhatFailsAndEndsWhereTheDeviceIsLost) {
  CpuDevice device;
  TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  MeasureStepOptions options;
  options.algorithms = {"exact.cpu", "failing.cpu", "library.cpu"};
  options.seconds = 0;
  Registry failing = testing::step_registry(), lost = testing::step_registry();
  failing.add(std::make_unique<Failing<DeviceError>>("failing.cpu"));
  failing.add(std::make_unique<Failing<std::runtime_error>>("library.cpu"));
  lost.add(std::make_unique<Failing<DeviceLost>>("failing.cpu"));
  const StepTimes times = measure_step(step, failing, device, options);
  for (size_t task : convolutions(step)) {
    for (const char* id : {"failing.cpu", "library.cpu"})
      EXPECT_THAT(times.tasks[task].left_out, Contains(id + std::string(": out of places")));
    EXPECT_EQ(times.tasks[task].tuned.size(), 1U);
  }
  options.algorithms.pop_back();
  EXPECT_THROW(measure_step(step, lost, device, options), DeviceLost);
}

TEST(TaskRows, AddUpAndSayWhatTheStepIs) {
  const Measured measured({"exact.cpu", "same.cpu"});
  const TaskRow& step = measured.rows.back();
  ASSERT_EQ(measured.rows.size(), measured.step.tasks().size() + 1);
  EXPECT_EQ(step.task, "step");
  double convolutions = 0;
  for (const TaskRow& row : measured.rows)
    if (row.problem) convolutions += row.inside.median;
  EXPECT_DOUBLE_EQ(*step.convolutions_seconds, convolutions);
  std::ostringstream out;
  print_step(out, measured.rows, Look(false, 200));
  EXPECT_THAT(out.str(), HasSubstr("A training step of small, batch 2"));
  const auto tuned =
      std::ranges::count_if(measured.rows, [](const TaskRow& row) { return row.tuned.size() > 1; });
  if (tuned > 0) {  // a candidate that was slow when it was checked is left out
    EXPECT_THAT(out.str(),
                HasSubstr("Of " + std::to_string(tuned) + " convolutions with several candidates"));
  } else {
    EXPECT_THAT(out.str(), ::testing::Not(HasSubstr("several candidates")));
  }
  const auto trace = chrome_trace(measured.rows);
  EXPECT_EQ(trace["traceEvents"].size(), measured.step.tasks().size());
  EXPECT_EQ(trace["traceEvents"][0]["name"], "one forward");
}

TEST(TaskRows, OfAConvolutionWithOneCandidateNameNoWinnerAlone) {
  const Measured measured({"exact.cpu", "forward.cpu"});
  for (const TaskRow& row : measured.rows)
    EXPECT_EQ(row.winner_alone.empty(), row.tuned.size() < 2) << row.layer << " " << row.task;
}

TEST(TaskFormat, IsThePageInDocs) {
  EXPECT_EQ(read_file(CONVSCOPE_SOURCE_FOLDER "/docs/task_format.md"), task_format_markdown())
      << "regenerate it: convscope list columns tasks --markdown > docs/task_format.md";
}

// A convolution's times, each six times, of a step with that one task.
TaskTimes times_of(double inside, double evicted, double own_workspace, double alone, double clock = 2000) {
  TaskTimes times;
  times.tuned = {{"a.cpu", "", 0, 0, Samples(6, alone), Samples(6, inside)}};
  times.inside = Samples(6, inside);
  times.evicted = Samples(6, evicted);
  times.own_workspace = Samples(6, own_workspace);
  times.alone_cold = times.alone_hot = Samples(6, alone);
  times.clock_inside = Samples(6, clock);
  times.clock_alone = Samples(6, 2000);
  return times;
}

TEST(MeasureStep, ComparesFusedEpiloguesWithAPassOfTheirOwn) {
  const Measured measured({"exact.cpu", "exact.separate.cpu", "same.separate.cpu", "wrong.separate.cpu"}, {},
                          true);
  for (size_t i = 0; i < measured.step.tasks().size(); ++i) {
    const TaskTimes& times = measured.times.tasks[i];
    const TaskRow& row = measured.rows[i];
    EXPECT_EQ(times.separate.size(), 6U) << "every task runs in that step";
    if (measured.step.tasks()[i].kind != TaskKind::forward) {
      EXPECT_FALSE(row.separate) << row.task;
      continue;
    }
    EXPECT_GE(times.tuned.size(), 2U) << "one of each form; a slow one is left out";
    EXPECT_EQ(times.tuned.size() + times.left_out.size(), 4U);
    EXPECT_THAT(times.left_out, Contains(HasSubstr("wrong.separate.cpu: wrong: the relative L2 error")));
    EXPECT_THAT(row.separate_algorithm, HasSubstr(".separate.cpu"));
    EXPECT_GT(*row.separate_over_inside, 0);
  }
  EXPECT_EQ(measured.times.step_of_separate.size(), 6U);
  EXPECT_TRUE(measured.rows.back().separate);
}

TEST(MeasureStep, KeepsTheFastestSeparateFormWhateverIsFaster) {
  CpuDevice device;
  const Registry registry = testing::step_registry();
  TrainingStep step(network_of(testing::small_suite(), 2, true), device, 1);
  CandidateOptions options;
  options.algorithms = {"exact.cpu", "same.cpu", "exact.separate.cpu", "same.separate.cpu"};
  options.most = 1;
  const auto queue = device.make_queue();
  const StepCandidates candidates(step, registry, device, *queue, options);
  for (size_t task : convolutions(step)) {
    const bool has_epilogue = step.tasks()[task].kind == TaskKind::forward;
    EXPECT_EQ(candidates[task].all.size(), has_epilogue ? 2U : 1U) << "one of each form";
  }
}

TEST(TaskRows, SayWhatFusingGainsWhereItIsShown) {
  CpuDevice device;
  const TrainingStep step(network_of(testing::small_suite(), 2, true), device, 1);
  const auto rows_of = [&](const Samples& separate) {
    StepTimes all;
    for (const StepTask& task : step.tasks()) {
      TaskTimes times = times_of(1, 1, 1, 1);
      times.tuned.push_back({"a.separate.cpu", "", 0, 0, Samples(6, 1), Samples(6, 1)});
      times.separate = separate;
      if (task.kind == TaskKind::forward) times.winner_separate = 1;
      if (!task.problem) times.tuned.clear();
      all.tasks.push_back(times);
    }
    all.step = Samples(6, 2);
    all.step_of_separate = Samples(6, 2.5);
    return task_rows({}, step, all);
  };
  const auto apart = rows_of(Samples(6, 1.2));
  EXPECT_EQ(apart.front().separate_algorithm, "a.separate.cpu");
  EXPECT_DOUBLE_EQ(*apart.front().separate_over_inside, 1.2);
  EXPECT_TRUE(*apart.front().is_separate_shown_slower);
  EXPECT_DOUBLE_EQ(*apart.back().separate_over_inside, 1.25);
  EXPECT_TRUE(*apart.back().is_separate_shown_slower);
  EXPECT_FALSE(*rows_of({0.9, 1.1, 1.3, 1.1, 1.2, 1.3}).front().is_separate_shown_slower);
}

TEST(TaskRows, NameTheCauseThatTakesTheDifferenceAway) {
  CpuDevice device;
  Suite suite = testing::small_suite();
  const TrainingStep step(network_of(suite, 2), device, 1);
  const auto cause = [&](const TaskTimes& times) {
    StepTimes all;
    for (const StepTask& task : step.tasks()) {
      all.tasks.push_back(times);
      if (!task.problem) all.tasks.back().tuned.clear();
    }
    all.step = Samples(6, 1);
    return name(*task_rows({}, step, all).front().cause);
  };
  EXPECT_EQ(cause(times_of(1, 1, 1, 1)), "none");
  EXPECT_EQ(cause(times_of(0.8, 1, 0.8, 1)), "cache");
  EXPECT_EQ(cause(times_of(0.8, 0.8, 1, 1)), "workspace");
  EXPECT_EQ(cause(times_of(1.25, 1.25, 1.25, 1, 1600)), "clock");
  EXPECT_EQ(cause(times_of(1.25, 1.25, 1.25, 1)), "other");
  TaskTimes without_clock = times_of(1.25, 1.25, 1.25, 1);
  without_clock.clock_inside = without_clock.clock_alone = Samples(6, 0);
  EXPECT_EQ(cause(without_clock), "other");
}

TEST(TaskRows, CallAWinnerAloneSlowerInsideOnlyWhereIntervalsAreApart) {
  CpuDevice device;
  const TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  const auto row_of = [&](const Samples& of_winner_alone) {
    StepTimes all;
    for (const StepTask& task : step.tasks()) {
      TaskTimes times = times_of(1, 1, 1, 1);
      times.tuned.push_back({"b.cpu", "", 0, 0, Samples(6, 0.5), of_winner_alone});
      times.winner_alone = 1;
      if (!task.problem) times.tuned.clear();
      all.tasks.push_back(times);
    }
    all.step = Samples(6, 1);
    all.step_of_winners_alone = Samples(6, 1.1);
    return task_rows({}, step, all);
  };
  const auto apart = row_of(Samples(6, 1.2));
  EXPECT_EQ(apart.front().winner_alone, "b.cpu");
  EXPECT_DOUBLE_EQ(*apart.front().regret, 1.2);
  EXPECT_TRUE(*apart.front().is_regret_shown);
  EXPECT_NEAR(*apart.back().regret, 1.1, 1e-12);
  EXPECT_TRUE(*apart.back().is_regret_shown);
  EXPECT_FALSE(*row_of({0.9, 1.1, 1.3, 1.1, 1.2, 1.3}).front().is_regret_shown);
}

}  // namespace
}  // namespace convscope
