#include "bench/cli/run_console.hpp"

#include <iostream>

#include "bench/report/console.hpp"

namespace convscope {

RunConsole::RunConsole(const Terminal& terminal, const RunLog& log)
    : terminal_(terminal), progress_(std::cerr, terminal.progress, terminal.columns) {
  for (const GroupTask& task : log.tasks_left()) state_.total += task.group.algorithms.size();
}

void RunConsole::group_begins(const GroupTask& task) {
  state_.layer = task.group.common.network + " " + task.group.common.layer;
  state_.pass = name(task.group.common.problem.pass);
}

void RunConsole::candidate_begins(const std::string& algorithm, Stage stage) {
  state_.algorithm = algorithm + " (" + std::string(name(stage)) + ")";
  draw();
}

void RunConsole::candidate_ends(const ResultRecord& /*record*/) {
  ++state_.done;
}

void RunConsole::group_ends(std::span<const ResultRecord> records) {
  progress_.clear();
  print_group(std::cout, records, {terminal_.colour});
  std::cout.flush();
}

void RunConsole::warn(const std::string& sentence) {
  progress_.clear();
  std::cerr << "convscope: " << sentence << "\n";
}

void RunConsole::finish() {
  progress_.clear();
}

// A few times a second: drawing takes time from a machine that is being measured.
void RunConsole::draw() {
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(200)) return;
  drawn_ = now;
  state_.elapsed_seconds = std::chrono::duration<double>(now - begin_).count();
  progress_.update(state_);
}

}  // namespace convscope
