// What a run shows: its progress line on standard error, a table after each group on standard output, at the
// end the roll-up, the noise floor and the failures. And what a dry run shows instead.
#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "bench/cli/verbs.hpp"
#include "bench/report/progress.hpp"
#include "bench/runner/run_suite.hpp"

namespace convscope {

class RunConsole final : public RunObserver {
 public:
  // `program` and `log` must outlive it.
  RunConsole(const Program& program, const RunLog& log);

  void group_begins(const GroupTask& task) override;
  void candidate_begins(const std::string& algorithm, Stage stage) override;
  void candidate_ends(const ResultRecord& record) override;
  void group_ends(std::span<const ResultRecord> records) override;
  void warn(const std::string& sentence) override;

  // What is printed once, after the last group. Returns the number of records that are failures.
  size_t finish(bool measured);

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  const Program& program_;
  const RunLog& log_;
  Progress progress_;
  ProgressState state_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_;
};

// Every group with the candidates that would run and the refusals of the others, and an estimate of the time.
void print_dry_run(std::ostream& out, const RunPlan& plan, const Registry& registry);

// The noise floor, for which `run --aa` measures two series of each candidate: |median of the second series /
// median of the first - 1|. Smaller differences between candidates mean nothing. Null without a second
// series.
std::optional<double> difference_of_series(const ResultRecord& record);

// For each layer and pass the largest difference among its candidates, under a heading for everything that
// was run under the same circumstances; then the largest of all.
void print_noise_floor(std::ostream& out, std::span<const ResultRecord> records);

}  // namespace convscope
