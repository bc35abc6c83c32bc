// What a run shows.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "bench/cli/run/run.hpp"
#include "bench/core/counted.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

struct Floor {
  std::string scope;  // network, batch and what else the times depend on
  std::string layer;  // and pass
  double difference = 0;
  std::string algorithm;
};

std::vector<Floor> floors_of(std::span<const ResultRecord> records) {
  std::vector<Floor> floors;
  for (const ResultRecord& record : records) {
    const auto difference = difference_of_series(record);
    if (!difference) continue;
    const CaseKey& key = record.key;
    const std::string scope =
        fmt::format("{}, batch {}, {}", key.network, key.problem.batch, circumstances(key, record.device));
    const std::string layer = fmt::format("{} {}", key.layer, name(key.problem.pass));
    auto floor = std::find_if(floors.begin(), floors.end(),
                              [&](const Floor& f) { return f.scope == scope && f.layer == layer; });
    if (floor == floors.end()) floor = floors.insert(floors.end(), {scope, layer, -1, ""});
    if (*difference > floor->difference) {
      floor->difference = *difference;
      floor->algorithm = key.algorithm;
    }
  }
  return floors;
}

}  // namespace

RunConsole::RunConsole(const Program& program, const RunLog& log)
    : program_(program),
      log_(log),
      progress_(program.errors, program.terminal.progress, program.terminal.columns) {
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
  print_group(program_.out, records, program_.terminal.look());
  program_.out.flush();
}

void RunConsole::warn(const std::string& sentence) {
  progress_.clear();
  program_.errors << "convscope: " << sentence << "\n";
}

bool RunConsole::finish() {
  progress_.clear();
  std::ostream& out = program_.out;
  const std::vector<ResultRecord>& records = log_.records();
  // Asked of the plan: `run --resume` goes on with a folder of `verify`, too.
  const bool measured =
      std::ranges::any_of(log_.plan().tasks, [](const GroupTask& task) { return task.protocol.measure; });
  if (measured) {
    print_roll_up(out, records, program_.terminal.look());
    print_noise_floor(out, records);
  }
  if (std::ranges::any_of(records, [](const ResultRecord& one) { return has_virtual_time(one); }))
    out << '\n' << kVirtualTime;
  const size_t failures = print_failures(out, records, false);
  const size_t right = static_cast<size_t>(std::ranges::count_if(records, [](const ResultRecord& record) {
    return record.outcome == Outcome::measured || record.outcome == Outcome::verified_only;
  }));
  if (log_.plan().tasks.empty()) out << "\nnothing to do in this shard: there are more shards than groups\n";
  const bool all_refused = right + failures == 0 && !records.empty() && log_.tasks_left().empty();
  fmt::print(out, "\n{} right, {} wrong or failed, {} refused{}\n", right, failures,
             records.size() - right - failures,
             all_refused ? ": nothing was run, and the tables say why" : "");
  fmt::print(out, "{}: {}/results.json, results.csv, benchmark.json\n", counted(records.size(), "record"),
             log_.folder());
  if (measured) print_verdict(out, records, program_.terminal.look());
  out.flush();
  return failures == 0 && (right > 0 || log_.plan().tasks.empty());
}

// A few times a second: drawing takes time from a machine that is being measured.
void RunConsole::draw() {
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(200)) return;
  drawn_ = now;
  state_.elapsed_seconds = seconds_since(begin_);
  progress_.update(state_);
}

std::optional<double> difference_of_series(const ResultRecord& record) {
  if (!record.time || !record.time->repeat) return std::nullopt;
  const double first = record.time->full.statistics.median;
  if (!(first > 0)) return std::nullopt;
  return std::abs(record.time->repeat->statistics.median / first - 1);
}

size_t print_failures(std::ostream& out, std::span<const ResultRecord> records, bool with_commands) {
  std::vector<const ResultRecord*> failures;
  for (const ResultRecord& record : records)
    if (is_failure(record.outcome)) failures.push_back(&record);
  if (!failures.empty())
    fmt::print(out, "\n{} of {} candidates are wrong or failed:\n", failures.size(), records.size());
  for (const ResultRecord* record : failures) {
    fmt::print(out, "  {} {} {}: {} {}: {}\n", record->key.network, record->key.layer,
               name(record->key.problem.pass), record->key.algorithm, name(record->outcome),
               one_line(record->note));
    if (with_commands) fmt::print(out, "    {}\n", rerun_command(*record));
  }
  return failures.size();
}

void print_noise_floor(std::ostream& out, std::span<const ResultRecord> records) {
  const std::vector<Floor> floors = floors_of(records);
  if (floors.empty()) return;
  out << "\nNoise floor: the medians of two series of the same candidate differ by at most\n";
  double largest = 0;
  std::string scope;
  for (const Floor& floor : floors) {
    if (floor.scope != scope) fmt::print(out, "  {}\n", floor.scope);
    scope = floor.scope;
    fmt::print(out, "  {:8.2f} %  {} ({})\n", 100 * floor.difference, floor.layer, floor.algorithm);
    largest = std::max(largest, floor.difference);
  }
  fmt::print(out, "  {:8.2f} %  over all\n", 100 * largest);
}

}  // namespace convscope
