#include "bench/runner/run_suite.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "bench/core/error.hpp"
#include "bench/report/record_json.hpp"

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
  void benchmark(const std::string& json) override {
    log_.add(BenchmarkReport{group_, nlohmann::ordered_json::parse(json)});
  }

 private:
  RunLog& log_;
  std::string group_;
  RunObserver& observer_;
};

void check_algorithms(const RunPlan& plan, const Registry& registry) {
  for (const GroupTask& task : plan.tasks)
    for (const std::string& id : task.group.algorithms)
      if (registry.find(id) == nullptr)
        throw UsageError("the run has the algorithm " + id + ", which this build does not have");
}

const Ceilings* find_ceilings(const RunLog& log, DeviceKind device, int threads) {
  const auto found = std::find_if(log.ceilings().begin(), log.ceilings().end(), [&](const Ceilings& c) {
    return c.device == device && c.threads == threads;
  });
  return found == log.ceilings().end() ? nullptr : &*found;
}

// Once per device and thread count that something is still to be measured with. False when stopped.
bool measure_missing_ceilings(const std::vector<GroupTask>& tasks, RunLog& log, const Registry& registry,
                              const IsolationOptions& options, StopSignal& stop, RunObserver& observer) {
  std::set<std::pair<DeviceKind, int>> wanted;
  for (const GroupTask& task : tasks) {
    const CaseKey& key = task.group.common;
    if (task.protocol.measure && key.device != DeviceKind::emulator) wanted.emplace(key.device, key.threads);
  }
  for (const auto& [device, threads] : wanted) {
    if (find_ceilings(log, device, threads) != nullptr) continue;
    try {
      const auto ceilings = measure_ceilings_isolated(device, threads, registry, options, stop);
      if (!ceilings) return false;
      log.add(*ceilings);
    } catch (const UsageError&) {
      throw;
    } catch (const std::runtime_error& error) {
      observer.warn(error.what());
    }
  }
  return true;
}

bool run_tasks(RunLog& log, const Registry& registry, const IsolationOptions& options, StopSignal& stop,
               RunObserver& observer) {
  const std::vector<GroupTask> tasks = log.tasks_left();
  if (!measure_missing_ceilings(tasks, log, registry, options, stop, observer)) return false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const GroupTask& task = tasks[i];
    observer.group_begins(task);
    Ceilings unknown;
    unknown.device = task.group.common.device;
    unknown.threads = task.group.common.threads;
    const Ceilings* known = find_ceilings(log, unknown.device, unknown.threads);
    LogSink sink(log, task.group, observer);
    if (!run_isolated(task, registry, known == nullptr ? unknown : *known, options, stop, sink)) return false;
    const auto whole =
        std::find_if(log.plan().tasks.begin(), log.plan().tasks.end(), [&](const GroupTask& t) {
          return candidate_key(t.group.common) == candidate_key(task.group.common);
        });
    observer.group_ends(log.records_of(whole->group));
    if (stop.requested() && i + 1 < tasks.size()) return false;
  }
  return true;
}

}  // namespace

bool run_suite(RunLog& log, const Registry& registry, const IsolationOptions& options, StopSignal& stop,
               RunObserver& observer) {
  check_algorithms(log.plan(), registry);
  const bool finished = run_tasks(log, registry, options, stop, observer);
  log.write_files();
  return finished;
}

double estimated_seconds(const GroupTask& task) {
  constexpr double kFlopsPerSecondAndThread = 1e10, kGpuFlopsPerSecond = 1e13, kEmulatorFlopsPerSecond = 1e8;
  constexpr double kVerifyRuns = 5;
  constexpr double kMeasureRuns = 40;
  constexpr double kStartSeconds = 0.1;
  const Protocol& protocol = task.protocol;
  const CaseKey& key = task.group.common;
  const double rate = key.device == DeviceKind::cuda       ? kGpuFlopsPerSecond
                      : key.device == DeviceKind::emulator ? kEmulatorFlopsPerSecond
                                                           : kFlopsPerSecondAndThread * key.threads;
  const double run = key.problem.nominal_flops() / rate;
  const double measuring = protocol.measure && key.device != DeviceKind::emulator
                               ? std::min(protocol.time_limit_seconds, 0.2 + kMeasureRuns * run)
                               : 0;
  const double candidates = static_cast<double>(task.group.algorithms.size());
  return kStartSeconds + candidates * (kVerifyRuns * run + measuring * (protocol.repeat ? 2 : 1));
}

bool is_failure(Outcome outcome) {
  return outcome == Outcome::wrong || outcome == Outcome::timeout || outcome == Outcome::crashed ||
         outcome == Outcome::failed;
}

}  // namespace convscope
