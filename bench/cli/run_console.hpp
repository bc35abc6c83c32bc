// RunConsole: what a run shows while it goes on: the progress line on standard error, a table after each
// group on standard output. What is printed once at the end is in run.cpp.
#pragma once

#include <chrono>
#include <string>

#include "bench/cli/terminal.hpp"
#include "bench/report/progress.hpp"
#include "bench/runner/run_suite.hpp"

namespace convscope {

class RunConsole final : public RunObserver {
 public:
  // The log is looked at now only, for what is left to do.
  RunConsole(const Terminal& terminal, const RunLog& log);

  void group_begins(const GroupTask& task) override;
  void candidate_begins(const std::string& algorithm, Stage stage) override;
  void candidate_ends(const ResultRecord& record) override;
  void group_ends(std::span<const ResultRecord> records) override;
  void warn(const std::string& sentence) override;
  // Takes the progress line away.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  Terminal terminal_;
  Progress progress_;
  ProgressState state_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_;
};

}  // namespace convscope
