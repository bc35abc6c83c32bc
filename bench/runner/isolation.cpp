#include "bench/runner/isolation.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/report/record_json.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/worker.hpp"
#include "bench/runner/worker_handle.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double kCeilingsLimitSeconds = 120;
constexpr StageLimits kNoLimit{1e18, 1e18};  // a thread cannot be ended
// While a candidate is measured the parent looks only this often, so that its waking disturbs no sample.
constexpr int kMeasuringTickMilliseconds = 20;

enum class Ending { finished, died, timed_out, stopped };

struct Supervised {
  Ending ending = Ending::finished;
  WorkerEnd worker;
};

// Hands every event to `handle` until the worker ends, `stop` is requested or no event came for `limit()`
// seconds.
class Supervisor {
 public:
  Supervisor(WorkerHandle& worker, StopSignal& stop)
      : worker_(worker), stop_(stop), reader_(worker.events()) {}

  Supervised run(const std::function<void(const Json&)>& handle, const std::function<double()>& limit) {
    for (bool open = true;;) {
      while (auto event = reader_.next()) {
        last_event_ = Clock::now();
        measuring_ = event->value("stage", "") == name(Stage::measure);
        if (event->at("event") == "end") return {Ending::finished, worker_.wait()};
        handle(*event);
      }
      if (!open) return {Ending::died, worker_.wait()};
      if (stop_.requested()) return end_it(Ending::stopped);
      if (std::chrono::duration<double>(Clock::now() - last_event_).count() > limit())
        return end_it(Ending::timed_out);
      pause();
      open = reader_.receive();
    }
  }

 private:
  Supervised end_it(Ending ending) {
    worker_.stop();
    return {ending, worker_.wait()};
  }

  // Until something may have happened.
  void pause() {
    pollfd files[] = {{stop_.file(), POLLIN, 0}, {worker_.events(), POLLIN, 0}};
    if (measuring_)
      poll(files, 1, kMeasuringTickMilliseconds);
    else
      poll(files, 2, 200);
  }

  WorkerHandle& worker_;
  StopSignal& stop_;
  EventReader reader_;
  Clock::time_point last_event_ = Clock::now();
  bool measuring_ = false;
};

std::unique_ptr<WorkerHandle> start(const Json& message, const Registry& registry,
                                    const IsolationOptions& options) {
  return options.isolate ? start_process(options.executable, message) : start_thread(registry, message);
}

void throw_error(const Json& event) {
  const auto what = event.at("what").get<std::string>();
  if (event.at("usage").get<bool>()) throw UsageError(what);
  throw std::runtime_error(what);
}

// One worker's work on what is left of a group.
class Attempt {
 public:
  Attempt(const GroupTask& task, GroupSink& sink) : left_(task.group.algorithms), sink_(sink) {}

  void handle(const Json& event) {
    const auto kind = event.at("event").get<std::string>();
    if (kind == "begin") {
      current_ = event.at("algorithm").get<std::string>();
      stage_ = *stage_from_name(event.at("stage").get<std::string>());
      sink_.begin(current_, stage_);
    } else if (kind == "record") {
      const ResultRecord record = record_from_json(event.at("record"));
      recorded_ += std::erase(left_, record.key.algorithm);
      sink_.record(record);
    } else if (kind == "benchmark") {
      sink_.benchmark(event.at("report").dump());
    } else if (kind == "device_lost") {
      device_lost_ = true;
    } else if (kind == "error") {
      if (event.at("usage").get<bool>()) throw_error(event);
      error_ = event.at("what").get<std::string>();
    }
  }

  double limit(const StageLimits& limits) const {
    return stage_ == Stage::measure ? limits.measure : limits.prepare;
  }

  // Takes those to blame for an ending out of what is left: the one last begun, or all when none was. Whoever
  // lost the device has its record already.
  std::vector<std::string> take_culprits() {
    std::vector<std::string> culprits;
    if (device_lost_ && recorded_ > 0) return culprits;
    if (error_.empty() && std::find(left_.begin(), left_.end(), current_) != left_.end())
      culprits = {current_};
    else
      culprits = left_;
    std::erase_if(left_, [&](const std::string& id) {
      return std::find(culprits.begin(), culprits.end(), id) != culprits.end();
    });
    return culprits;
  }

  const std::vector<std::string>& left() const { return left_; }
  Stage stage() const { return stage_; }
  const std::string& error() const { return error_; }
  bool device_lost() const { return device_lost_; }

 private:
  std::vector<std::string> left_;
  GroupSink& sink_;
  std::string current_;
  Stage stage_ = Stage::plan;
  std::string error_;
  size_t recorded_ = 0;  // candidates that this worker reported
  bool device_lost_ = false;
};

// A candidate that a SIGKILL ended is a crashed one, whatever it was that sent it: unlike a refusal for want
// of memory it fails the run.
void settle_died(ResultRecord& record, const WorkerEnd& end, std::string_view stage) {
  record.outcome = Outcome::crashed;
  record.reason = Reason::crashed;
  if (end.lingered) {
    record.note = fmt::format("the process closed its pipe during {} and had to be killed", stage);
  } else if (!end.signal) {
    record.note = fmt::format("the process ended with exit code {} during {}", end.exit_code, stage);
  } else if (*end.signal == SIGKILL) {
    record.reason = Reason::out_of_memory;
    record.note = fmt::format("killed by SIGKILL during {}, probably because memory ran out", stage);
  } else {
    const char* abbreviation = sigabbrev_np(*end.signal);
    record.note = fmt::format("SIG{} ({}) during {}", abbreviation == nullptr ? "?" : abbreviation,
                              strsignal(*end.signal), stage);
  }
}

void blame(ResultRecord& record, const Supervised& end, const Attempt& attempt, const StageLimits& limits) {
  const std::string_view stage = name(attempt.stage());
  if (!attempt.error().empty()) {
    record.outcome = Outcome::failed;
    record.reason = Reason::failed;
    record.note = attempt.error();
  } else if (attempt.device_lost()) {
    record.outcome = Outcome::crashed;
    record.reason = Reason::crashed;
    record.note = "the device was lost before any candidate was run";
  } else if (end.ending == Ending::timed_out) {
    record.outcome = Outcome::timeout;
    record.reason = Reason::timeout;
    record.note = fmt::format("no end of {} within {:g} s", stage, attempt.limit(limits));
  } else {
    settle_died(record, end.worker, stage);
  }
}

}  // namespace

StageLimits limits_of(const Protocol& protocol) {
  return {30 + 10 * protocol.time_limit_seconds, 20 + 4 * protocol.time_limit_seconds};
}

bool run_isolated(const GroupTask& task, const Registry& registry, const Ceilings& ceilings,
                  const IsolationOptions& options, StopSignal& stop, GroupSink& sink) {
  const StageLimits limits = options.isolate ? options.limits.value_or(limits_of(task.protocol)) : kNoLimit;
  GroupTask rest = task;
  while (!rest.group.algorithms.empty()) {
    Attempt attempt(rest, sink);
    const auto worker = start(group_task_message(rest, ceilings), registry, options);
    const Supervised end =
        Supervisor(*worker, stop)
            .run([&](const Json& event) { attempt.handle(event); }, [&] { return attempt.limit(limits); });
    if (end.ending == Ending::stopped) return false;
    for (const std::string& id : attempt.take_culprits()) {
      ResultRecord record =
          blank_record(task, registry.find(id)->info(), describe_device(task.group.common.device), ceilings);
      blame(record, end, attempt, limits);
      sink.record(record);
    }
    rest.group.algorithms = attempt.left();
  }
  return true;
}

std::optional<Ceilings> measure_ceilings_isolated(DeviceKind device, int threads, const Registry& registry,
                                                  const IsolationOptions& options, StopSignal& stop) {
  std::optional<Ceilings> ceilings;
  const auto handle = [&](const Json& event) {
    if (event.at("event") == "error") throw_error(event);
    if (event.at("event") == "ceilings") ceilings = ceilings_from_json(event.at("ceilings"));
  };
  const auto worker = start(ceilings_message(device, threads), registry, options);
  const Supervised end = Supervisor(*worker, stop).run(handle, [&] {
    return options.isolate ? kCeilingsLimitSeconds : kNoLimit.prepare;
  });
  if (end.ending == Ending::stopped) return std::nullopt;
  if (!ceilings)
    throw std::runtime_error(fmt::format("the measuring of the ceilings of {} died or hung", name(device)));
  return ceilings;
}

}  // namespace convscope
