#include "bench/runner/isolation.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/record/record_json.hpp"
#include "bench/runner/worker.hpp"
#include "bench/runner/worker_handle.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

// While a candidate is measured the parent looks only this often, so that its waking disturbs no sample.
constexpr int kMeasuringTickMilliseconds = 20;

enum class Ending { finished, died, timed_out, stopped };

struct Supervised {
  Ending ending = Ending::finished;
  WorkerEnd worker;
};

// Hands every event to `handle` until the worker ends, `stop` is requested or `is_late` says so of the
// seconds since the last event.
class Supervisor {
 public:
  Supervisor(WorkerHandle& worker, StopSignal& stop)
      : worker_(worker), stop_(stop), reader_(worker.events()) {}

  Supervised run(const std::function<void(const Json&)>& handle, const std::function<bool(double)>& is_late) {
    for (bool open = true;;) {
      while (auto event = reader_.next()) {
        last_event_ = Clock::now();
        measuring_ = event->value("stage", "") == name(Stage::measure);
        if (event->at("event") == "end") return {Ending::finished, worker_.wait()};
        handle(*event);
      }
      if (!open) return {Ending::died, worker_.wait()};
      if (stop_.requested()) return end_it(Ending::stopped);
      if (is_late(seconds_since(last_event_))) return end_it(Ending::timed_out);
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

[[noreturn]] void throw_usage_error(const Json& event) {
  throw UsageError(event.at("what").get<std::string>());
}

std::string seconds_text(double seconds) {
  return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
}

// The limits of each candidate of a group: its problem's, or its plan's once there is one.
class GroupLimits {
 public:
  GroupLimits(const GroupTask& task, const DeviceInfo& device, const Ceilings& ceilings,
              const std::optional<StageLimits>& given)
      : task_(task), device_(device), ceilings_(ceilings), given_(given) {
    for (const std::string& id : task.group.algorithms) set(id, {});
  }
  void set(const std::string& algorithm, const OperationCount& planned) {
    const RunWork work = work_of(task_.group.common.problem, device_.kind, planned);
    limits_[algorithm] = given_.value_or(stage_limits(task_, work, device_, ceilings_));
  }
  const StageLimits& of(const std::string& algorithm) const { return limits_.at(algorithm); }

 private:
  const GroupTask& task_;
  const DeviceInfo& device_;
  const Ceilings& ceilings_;
  const std::optional<StageLimits>& given_;
  std::map<std::string, StageLimits> limits_;
};

// One worker's work on what is left of a group.
class Attempt {
 public:
  Attempt(const GroupTask& task, GroupLimits& limits, GroupSink& sink)
      : left_(task.group.algorithms), limits_(limits), sink_(sink) {}

  void handle(const Json& event) {
    const auto kind = event.at("event").get<std::string>();
    if (kind == "begin") {
      begin(event.at("algorithm").get<std::string>(),
            *from_name(kStages, event.at("stage").get<std::string>()));
    } else if (kind == "planned") {
      limits_.set(event.at("algorithm").get<std::string>(),
                  part_from_json<OperationCount>(event.at("operations")));
    } else if (kind == "record") {
      const ResultRecord record = record_from_json(event.at("record"));
      std::erase(left_, record.key.algorithm);
      sink_.record(record);
    } else if (kind == "verified") {
      verified_.push_back(record_from_json(event.at("record")));
    } else if (kind == "benchmark") {
      sink_.benchmark(event.at("report"));
    } else if (kind == "device_lost") {
      device_lost_ = event.at("what").get<std::string>();
    } else if (kind == "error") {
      if (event.at("usage").get<bool>()) throw_usage_error(event);
      error_ = event.at("what").get<std::string>();
    }
  }

  // Whether the worker is over a limit, `silence` seconds after its last event; why() says which.
  bool is_late(double silence) {
    if (current_.empty()) {
      late_ = fmt::format("the worker did nothing for {}", seconds_text(kStartLimitSeconds));
      return silence > kStartLimitSeconds;
    }
    const StageLimit& limit = limits_.of(current_).of(stage_);
    const double spent = seconds_since(begun_) + (stage_ == Stage::measure ? measured_[current_] : 0);
    if (spent > limit.whole) {
      late_ = fmt::format("no end of {} within {}", name(stage_), seconds_text(limit.whole));
      return true;
    }
    late_ = fmt::format("no sign of life during {} for {}", name(stage_), seconds_text(limit.silence));
    return silence > limit.silence;
  }

  // Whether the worker came so far that a candidate can be to blame.
  bool has_begun() const { return !current_.empty(); }

  // Takes those to blame for an ending out of what is left: the one last begun, or all where the worker
  // threw. Nobody where the one last begun has its record: it was that candidate's aftermath.
  std::vector<std::string> take_culprits() {
    if (!error_.empty()) return std::exchange(left_, {});
    if (std::erase(left_, current_) == 0) return {};
    return {current_};
  }

  const std::vector<ResultRecord>& verified() const { return verified_; }
  const std::vector<std::string>& left() const { return left_; }
  Stage stage() const { return stage_; }
  const std::string& error() const { return error_; }
  const std::string& late() const { return late_; }
  const std::string& device_lost() const { return device_lost_; }  // the device's words; empty: it is not

 private:
  void begin(const std::string& algorithm, Stage stage) {
    if (stage_ == Stage::measure) measured_[current_] += seconds_since(begun_);
    current_ = algorithm;
    stage_ = stage;
    begun_ = Clock::now();
    sink_.begin(current_, stage_);
  }

  std::vector<std::string> left_;
  std::vector<ResultRecord> verified_;
  GroupLimits& limits_;
  GroupSink& sink_;
  std::string current_;  // the candidate last begun; empty before the first
  Stage stage_ = Stage::plan;
  Clock::time_point begun_ = Clock::now();
  std::map<std::string, double> measured_;  // seconds of the visits that have ended
  std::string late_, error_, device_lost_;
};

// How a worker that nobody ended came to its end; `when` is as "during verify".
std::string death_text(const WorkerEnd& end, const std::string& when) {
  if (end.lingered) return fmt::format("the process closed its pipe {} and had to be killed", when);
  if (!end.signal) return fmt::format("the process ended with exit code {} {}", end.exit_code, when);
  if (*end.signal == SIGKILL)
    return fmt::format("killed by SIGKILL {}, probably because memory ran out", when);
  const char* abbreviation = sigabbrev_np(*end.signal);
  return fmt::format("SIG{} ({}) {}", abbreviation == nullptr ? "?" : abbreviation, strsignal(*end.signal),
                     when);
}

// A candidate that a SIGKILL ended is a crashed one, whatever it was that sent it: unlike a refusal for want
// of memory it fails the run. Its reason is the probable one.
void blame(ResultRecord& record, const Supervised& end, const Attempt& attempt) {
  if (!attempt.error().empty()) return settle(record, Reason::failed, attempt.error());
  if (end.ending == Ending::timed_out) return settle(record, Reason::timeout, attempt.late());
  settle(record, Reason::crashed, death_text(end.worker, fmt::format("during {}", name(attempt.stage()))));
  if (end.worker.signal == SIGKILL && !end.worker.lingered) record.reason = Reason::out_of_memory;
}

// Why a worker began no candidate.
std::string why_nothing_began(const Supervised& end, const Attempt& attempt) {
  if (!attempt.error().empty()) return attempt.error();
  if (!attempt.device_lost().empty()) return attempt.device_lost();
  if (end.ending == Ending::timed_out) return attempt.late();
  return death_text(end.worker, "before it began a candidate");
}

// False when `stop` was requested meanwhile.
bool wait_before_retry(double seconds, StopSignal& stop) {
  pollfd file{stop.file(), POLLIN, 0};
  poll(&file, 1, static_cast<int>(1000 * seconds));
  return !stop.requested();
}

}  // namespace

StopSignal::StopSignal() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, &before_);
  file_ = FileDescriptor(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

StopSignal::~StopSignal() {
  requested();  // takes a signal that has arrived, so that it does not strike when the mask is lifted
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignal::requested() {
  signalfd_siginfo signal;
  while (read(file_.get(), &signal, sizeof signal) == sizeof signal) requested_ = true;
  return requested_;
}

GroupEnd run_isolated(const GroupTask& task, const Registry& registry, const DeviceInfo& device,
                      const Ceilings& ceilings, const IsolationOptions& options, StopSignal& stop,
                      GroupSink& sink) {
  using Kind = GroupEnd::Kind;
  GroupLimits limits(task, device, ceilings, options.limits);
  GroupTask rest = task;
  std::vector<std::string>& left = rest.group.algorithms;
  for (bool is_retry = false; !left.empty();) {
    Attempt attempt(rest, limits, sink);
    const auto worker = start(group_task_message(rest, ceilings), registry, options);
    const Supervised end =
        Supervisor(*worker, stop)
            .run([&](const Json& event) { attempt.handle(event); },
                 [&](double silence) { return options.isolate && attempt.is_late(silence); });
    if (end.ending == Ending::stopped) return {Kind::stopped, attempt.left(), ""};
    if (!attempt.has_begun()) {
      if (is_retry) return {Kind::no_worker, left, why_nothing_began(end, attempt)};
      if (!wait_before_retry(options.retry_seconds, stop)) return {Kind::stopped, left, ""};
      is_retry = true;
      continue;
    }
    is_retry = false;
    for (const std::string& id : attempt.take_culprits()) {
      ResultRecord record = blank_record(task, registry.find(id)->info(), device, ceilings);
      blame(record, end, attempt);
      sink.record(record);
    }
    left = attempt.left();
    rest.verified.insert(rest.verified.end(), attempt.verified().begin(), attempt.verified().end());
    if (!options.isolate && !attempt.device_lost().empty())
      return {Kind::device_lost, left, attempt.device_lost()};
  }
  return {};
}

std::optional<MeasuredCeilings> measure_ceilings_isolated(DeviceId device, int threads,
                                                          double stage_limit_seconds,
                                                          const Registry& registry,
                                                          const IsolationOptions& options, StopSignal& stop) {
  std::optional<MeasuredCeilings> measured;
  std::string why = "the worker died or hung";
  const auto handle = [&](const Json& event) {
    const auto kind = event.at("event").get<std::string>();
    if (kind == "ceilings")
      measured = {part_from_json<Ceilings>(event.at("ceilings")), event.at("beside").get<std::string>()};
    if (kind == "error" && event.at("usage").get<bool>()) throw_usage_error(event);
    if (kind == "error" || kind == "device_lost") why = event.at("what").get<std::string>();
  };
  for (bool is_retry = false;; is_retry = true) {
    const auto worker = start(ceilings_message(device, threads), registry, options);
    const Supervised end = Supervisor(*worker, stop).run(handle, [&](double silence) {
      return options.isolate && silence > ceilings_limit(stage_limit_seconds);
    });
    if (end.ending == Ending::stopped) return std::nullopt;
    if (measured) return measured;
    if (is_retry)
      throw std::runtime_error(fmt::format("the ceilings of {} are unknown: {}", name(device), why));
    if (!wait_before_retry(options.retry_seconds, stop)) return std::nullopt;
  }
}

}  // namespace convscope
