#include "bench/runner/run_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/record/bound.hpp"
#include "bench/record/record_json.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

class LogSink final : public GroupSink {
 public:
  LogSink(RunLog& log, const Group& group, RunObserver& observer)
      : log_(log), group_(candidate_key(group.common)), observer_(observer) {}
  void begin(const std::string& algorithm, Stage stage) override {
    observer_.candidate_begins(algorithm, stage);
  }
  void record(const ResultRecord& record) override {
    log_.add(record);
    observer_.candidate_ends(record);
  }
  void benchmark(const nlohmann::ordered_json& report) override { log_.add(BenchmarkReport{group_, report}); }

 private:
  RunLog& log_;
  std::string group_;
  RunObserver& observer_;
};

std::string failure_text(const ResultRecord& record) {
  const CaseKey& key = record.key;
  return fmt::format("{} in {} {} {} {} batch {} on {}: {}", name(record.outcome), key.layer,
                     name(key.problem.pass), name(key.problem.math), name(key.problem.layout),
                     key.problem.batch, name(key.device_id()), record.note);
}

void check_algorithms(const RunPlan& plan, const Registry& registry) {
  for (const GroupTask& task : plan.tasks)
    for (const std::string& id : task.group.algorithms)
      if (registry.find(id) == nullptr)
        throw UsageError("the run has the algorithm " + id + ", which this build does not have");
}

// Of a group whose records beat their ceilings.
constexpr int kCeilingsAgain = 2;

// A device of the run, as it was found at the beginning.
struct RunDevice {
  DeviceInfo info;
  std::vector<std::pair<GroupTask, std::string>>
      without_worker;  // consecutive, with the error of the last try
  std::string lost;    // why it is; empty while it is not
};

class SuiteRun {
 public:
  SuiteRun(RunLog& log, const Registry& registry, const IsolationOptions& options, StopSignal& stop,
           RunObserver& observer)
      : log_(log), registry_(registry), options_(options), stop_(stop), observer_(observer) {}

  SuiteEnd run() {
    const std::vector<GroupTask> tasks = log_.tasks_left();
    for (const GroupTask& task : tasks) {
      const DeviceId id = task.group.common.device_id();
      if (!devices_.contains(id)) devices_[id].info = describe_device(id);
    }
    if (!measure_missing_ceilings(tasks)) return {SuiteEnd::Kind::stopped, ""};
    for (size_t i = 0; i < tasks.size(); ++i) {
      RunDevice& device = devices_[tasks[i].group.common.device_id()];
      if (!device.lost.empty()) continue;
      if (!run_task(tasks[i], device) || (stop_.requested() && i + 1 < tasks.size()))
        return {SuiteEnd::Kind::stopped, ""};
    }
    measure_ceilings_again();
    return end_of_tasks();
  }

 private:
  const Ceilings* find_ceilings(DeviceId device, int threads) const;
  bool measure_missing_ceilings(const std::vector<GroupTask>& tasks);
  bool measure_ceilings(DeviceId device, int threads, double stage_limit);
  void doubt_ceilings(const GroupTask& task);
  void measure_ceilings_again();
  Ceilings ceilings_of(const CaseKey& key) const;
  void record(const GroupTask& task, const std::string& algorithm, Reason reason, const std::string& note);
  void leave_out(GroupTask& task);
  bool run_task(GroupTask task, RunDevice& device);
  void finish_group(const GroupTask& task);
  void settle_without_worker(RunDevice& device);
  SuiteEnd end_of_tasks();

  RunLog& log_;
  const Registry& registry_;
  const IsolationOptions& options_;
  StopSignal& stop_;
  RunObserver& observer_;
  std::map<DeviceId, RunDevice> devices_;
  struct LastCeilings {
    Clock::time_point at;
    double stage_limit = 0;
  };
  std::map<std::pair<DeviceId, int>, LastCeilings> measured_;  // ceilings, by thread count
};

const Ceilings* SuiteRun::find_ceilings(DeviceId device, int threads) const {
  const auto found = std::find_if(log_.ceilings().begin(), log_.ceilings().end(), [&](const Ceilings& c) {
    return DeviceId(c.device, c.device_index) == device && c.threads == threads;
  });
  return found == log_.ceilings().end() ? nullptr : &*found;
}

// Once per device and thread count that something is still to be measured with. False when stopped.
bool SuiteRun::measure_missing_ceilings(const std::vector<GroupTask>& tasks) {
  std::map<std::pair<DeviceId, int>, double> wanted;  // with the limit that is set
  for (const GroupTask& task : tasks) {
    const CaseKey& key = task.group.common;
    if (task.protocol.measure && key.device != DeviceKind::emulator)
      wanted[{key.device_id(), key.threads}] = task.protocol.sampling.stage_limit_seconds;
  }
  for (const auto& [where, stage_limit] : wanted) {
    const auto& [device, threads] = where;
    if (find_ceilings(device, threads) != nullptr) continue;
    if (!measure_ceilings(device, threads, stage_limit)) return false;
  }
  return true;
}

// False when stopped.
bool SuiteRun::measure_ceilings(DeviceId device, int threads, double stage_limit) {
  std::optional<MeasuredCeilings> measured;
  try {
    measured = measure_ceilings_isolated(device, threads, stage_limit, registry_, options_, stop_);
  } catch (const UsageError&) {
    throw;
  } catch (const std::runtime_error& error) {
    observer_.warn(error.what());
    return true;
  }
  if (!measured) return false;
  log_.add(measured->ceilings);
  if (!measured->beside.empty())
    observer_.warn(
        fmt::format("the ceilings of {} were measured while other programs had it for {}: they may be "
                    "too low, and shares of them too high",
                    name(device), measured->beside));
  measured_[{device, threads}] = {Clock::now(), stage_limit};
  return true;
}

// A record of the group that is faster than its ceilings allow: they were measured while something disturbed
// them, and are again, so that the group's table shows the better ones.
void SuiteRun::doubt_ceilings(const GroupTask& task) {
  const DeviceId device = task.group.common.device_id();
  const int threads = task.group.common.threads;
  const auto beats = [&] { return std::ranges::any_of(log_.records_of(task.group), beats_its_ceilings); };
  for (int again = 0; again < kCeilingsAgain && beats() && !stop_.requested(); ++again)
    measure_ceilings(device, threads, task.protocol.sampling.stage_limit_seconds);
  if (stop_.requested() || !beats()) return;
  double most = 0;
  for (const ResultRecord& record : log_.records_of(task.group))
    if (beats_its_ceilings(record)) most = std::max(most, percent_of_ceiling(record).value_or(0));
  observer_.warn(
      fmt::format("{} {}: a record is at {:.0f}% of the measured ceiling, measured again {} times: the "
                  "ceilings of {} with {} are too low, and so is every bound",
                  task.group.common.layer, name(task.group.common.problem.pass), most, kCeilingsAgain,
                  name(device), counted(threads, "thread")));
}

// After a long run: what a machine can do may have been less when it began.
void SuiteRun::measure_ceilings_again() {
  for (const auto& [where, last] : std::map(measured_)) {
    if (stop_.requested()) return;
    if (seconds_since(last.at) > kCeilingsHold && devices_.at(where.first).lost.empty())
      measure_ceilings(where.first, where.second, last.stage_limit);
  }
}

Ceilings SuiteRun::ceilings_of(const CaseKey& key) const {
  if (const Ceilings* known = find_ceilings(key.device_id(), key.threads)) return *known;
  Ceilings unknown;
  unknown.device = key.device;
  unknown.device_index = key.device_index;
  unknown.threads = key.threads;
  return unknown;
}

// The record of a candidate that was not run.
void SuiteRun::record(const GroupTask& task, const std::string& algorithm, Reason reason,
                      const std::string& note) {
  const CaseKey& key = task.group.common;
  ResultRecord record = blank_record(task, registry_.find(algorithm)->info(),
                                     devices_.at(key.device_id()).info, ceilings_of(key));
  settle(record, reason, note);
  log_.add(record);
  observer_.candidate_ends(record);
}

void SuiteRun::leave_out(GroupTask& task) {
  std::erase_if(task.group.algorithms, [&](const std::string& id) {
    const auto why = why_left_out(log_.records(), id, task.group.common.device);
    if (why) record(task, id, Reason::left_out_after_failures, *why);
    return why.has_value();
  });
}

// False when stopped.
bool SuiteRun::run_task(GroupTask task, RunDevice& device) {
  using Kind = GroupEnd::Kind;
  observer_.group_begins(task);
  leave_out(task);
  LogSink sink(log_, task.group, observer_);
  const GroupEnd end =
      run_isolated(task, registry_, device.info, ceilings_of(task.group.common), options_, stop_, sink);
  if (end.kind == Kind::stopped) return false;
  if (end.kind == Kind::no_worker) {
    task.group.algorithms = end.left;
    device.without_worker.emplace_back(task, end.why);
    observer_.warn(fmt::format("no worker could begin {} {} on {}: {}", task.group.common.layer,
                               name(task.group.common.problem.pass), name(device.info.id()), end.why));
    if (device.without_worker.size() == kGroupsBeforeLost) device.lost = end.why;
    return true;
  }
  settle_without_worker(device);
  if (end.kind == Kind::device_lost) device.lost = end.why;
  finish_group(task);
  return true;
}

void SuiteRun::finish_group(const GroupTask& task) {
  const auto& tasks = log_.plan().tasks;
  const auto whole = std::find_if(tasks.begin(), tasks.end(), [&](const GroupTask& t) {
    return candidate_key(t.group.common) == candidate_key(task.group.common);
  });
  doubt_ceilings(*whole);
  observer_.group_ends(log_.records_of(whole->group));
}

// The device was to be had again, or the run is over: those groups failed alone.
void SuiteRun::settle_without_worker(RunDevice& device) {
  for (const auto& [task, why] : std::exchange(device.without_worker, {})) {
    for (const std::string& id : task.group.algorithms)
      record(task, id, Reason::failed, "no worker could begin, tried twice: " + why);
    finish_group(task);
  }
}

SuiteEnd SuiteRun::end_of_tasks() {
  SuiteEnd end;
  for (auto& [id, device] : devices_) {
    if (device.lost.empty())
      settle_without_worker(device);
    else
      end.why +=
          fmt::format("{}the device {} was lost: {}", end.why.empty() ? "" : "; ", name(id), device.lost);
  }
  if (!log_.tasks_left().empty()) end.kind = SuiteEnd::Kind::device_lost;
  return end;
}

}  // namespace

SuiteEnd run_suite(RunLog& log, const Registry& registry, const IsolationOptions& options, StopSignal& stop,
                   RunObserver& observer) {
  check_algorithms(log.plan(), registry);
  const SuiteEnd end = SuiteRun(log, registry, options, stop, observer).run();
  log.write_files();
  return end;
}

bool counts_as_failure(const ResultRecord& record) {
  return record.outcome == Outcome::timeout ||
         (record.outcome == Outcome::crashed && record.reason != Reason::out_of_memory);
}

std::optional<std::string> why_left_out(std::span<const ResultRecord> records, const std::string& algorithm,
                                        DeviceKind device) {
  int failures = 0;
  std::string how;
  for (const ResultRecord& record : records) {
    if (record.key.algorithm != algorithm || record.key.device != device || !counts_as_failure(record))
      continue;
    ++failures;
    if (failures <= kFailuresBeforeLeftOut) how += (how.empty() ? "" : "; ") + failure_text(record);
  }
  if (failures < kFailuresBeforeLeftOut) return std::nullopt;
  return fmt::format("left out of the rest of the run after {} failures: {}", kFailuresBeforeLeftOut, how);
}

bool is_failure(Outcome outcome) {
  return outcome == Outcome::wrong || outcome == Outcome::timeout || outcome == Outcome::crashed ||
         outcome == Outcome::failed;
}

}  // namespace convscope
