#include "bench/runner/run_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/measure_group.hpp"
#include "bench/measure/tensor_copies.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

struct Candidate {
  const Algorithm* algorithm = nullptr;
  ResultRecord record;
  std::unique_ptr<Plan> plan;
  double plan_seconds = 0;
  Buffer workspace;
};
using Candidates = std::vector<Candidate>;

// Bytes of the device's memory that timing takes besides the workspaces: the tensors, in as many copies as
// the cache state needs, and, where the device's memory is the host's, what verification keeps for its second
// check.
int64_t measuring_bytes(const ConvProblem& problem, const DeviceInfo& device, CacheState cache) {
  const int64_t tensors = copied_bytes(problem, cache, device);
  return device.kind == DeviceKind::cuda ? tensors : tensors + verification_memory(problem).held;
}

// The same of verifying.
int64_t verifying_bytes(const ConvProblem& problem, const DeviceInfo& device) {
  const VerificationMemory memory = verification_memory(problem);
  return device.kind == DeviceKind::cuda ? problem.total_bytes() : memory.held + memory.in_check;
}

class GroupRun {
 public:
  GroupRun(const GroupTask& task, Device& device, const Ceilings& ceilings, GroupSink& sink)
      : task_(task),
        problem_(task.group.common.problem),
        device_(device),
        queue_(device.make_queue()),
        ceilings_(ceilings),
        sink_(sink) {}

  // The candidates that are supported, planned and within cap and memory; the others are reported.
  Candidates plan_all(const Registry& registry) {
    Candidates planned;
    for (const std::string& id : task_.group.algorithms) {
      const Algorithm* algorithm = registry.find(id);
      if (algorithm == nullptr) throw std::runtime_error("this build has no algorithm " + id);
      Candidate candidate{
          algorithm, blank_record(task_, algorithm->info(), device_.info(), ceilings_), {}, 0, {}};
      if (plan(candidate))
        planned.push_back(std::move(candidate));
      else
        sink_.record(candidate.record);
    }
    return planned;
  }

  // Leaves those that may be measured: all but those that wrote where they must not. One whose values are
  // wrong is settled as wrong and still timed. The expected values are computed once for all.
  void verify_all(Candidates& candidates) {
    VerifyOptions options;
    options.seed = task_.group.common.seed;
    if (device_.info().kind == DeviceKind::cuda) options.reference_device = &device_;
    keep_if(
        candidates,
        [&](Candidate& c) {
          if (!verification_) verification_ = std::make_unique<Verification>(problem_, options);
          if (const ResultRecord* earlier = verified_earlier(c)) {
            c.record.accuracy = earlier->accuracy;
            return true;
          }
          const Verdict verdict = verification_->check(*c.algorithm, *c.plan, device_, *queue_);
          c.record.accuracy = verdict.accuracy;
          if (verdict.passed()) {
            sink_.verified(c.record);
            return true;
          }
          settle(c.record, verdict.reason, verdict.note);
          return verdict.contained;
        },
        Stage::verify);
  }

  // Reports those that are never timed: all without `measure`, the reference and whatever an emulator ran.
  void report_untimed(Candidates& candidates) {
    const bool timed = task_.protocol.measure && device_.info().kind != DeviceKind::emulator;
    std::erase_if(candidates, [&](Candidate& c) {
      if (timed && c.algorithm->info().candidate) return false;
      if (!is_wrong(c)) settle(c.record, Reason::none, "");
      sink_.record(c.record);
      return true;
    });
  }

  // Side by side, in as few batches as their workspaces fit into memory at once: one, nearly always.
  void measure_all(Candidates& candidates) {
    if (verification_) verification_->release_device();
    const int64_t tensors = measuring_bytes(problem_, device_.info(), task_.group.common.cache);
    const int64_t usable = device_.usable_bytes();
    for (auto begin = candidates.begin(); begin != candidates.end();) {
      int64_t bytes = tensors;
      auto end = begin;
      while (end != candidates.end() && (end == begin || bytes + end->plan->workspace_bytes() <= usable))
        bytes += (end++)->plan->workspace_bytes();
      measure_batch(std::span(begin, end));
      for (Candidate& c : std::span(begin, end)) c.workspace = Buffer();
      begin = end;
    }
    std::erase_if(candidates, [&](Candidate& c) {
      if (c.record.outcome == Outcome::measured) return false;
      sink_.record(c.record);
      return true;
    });
  }

  // A candidate that is right once and wrong later keeps its time and ends as wrong.
  void verify_again(Candidates& candidates) {
    keep_if(
        candidates,
        [&](Candidate& c) {
          const Verdict verdict = verification_->check_again(*c.algorithm, *c.plan, device_, *queue_);
          if (!verdict.passed()) settle(c.record, verdict.reason, "after timing: " + verdict.note);
          sink_.record(c.record);
          return true;
        },
        Stage::verify_again);
  }

 private:
  // The plan must be the same: its record tells.
  const ResultRecord* verified_earlier(const Candidate& candidate) const {
    const ResultRecord& now = candidate.record;
    const auto found =
        std::find_if(task_.verified.begin(), task_.verified.end(), [&](const ResultRecord& record) {
          return record.key.algorithm == now.key.algorithm && record.implementation == now.implementation;
        });
    return found == task_.verified.end() ? nullptr : &*found;
  }

  // As the exception says. A lost device is reported at once and passed on: nothing further can be done in
  // this process.
  void settle_failure(ResultRecord& record, const std::exception_ptr& failure, Stage stage) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::bad_alloc&) {
      settle(record, Reason::out_of_memory, fmt::format("memory ran out during {}", name(stage)));
    } catch (const Refused& refusal) {
      if (refusal.answer() != nullptr) record.answer = *refusal.answer();
      settle(record, refusal.reason(), refusal.what());
    } catch (const DeviceLost& error) {
      settle(record, Reason::crashed, fmt::format("{}: {}", name(stage), error.what()));
      sink_.record(record);
      throw;
    } catch (const std::exception& error) {
      settle(record, Reason::failed, fmt::format("{}: {}", name(stage), error.what()));
    }
  }

  static bool is_wrong(const Candidate& candidate) { return candidate.record.outcome == Outcome::wrong; }

  bool plan(Candidate& candidate) {
    ResultRecord& record = candidate.record;
    const Algorithm& algorithm = *candidate.algorithm;
    sink_.begin(algorithm.info().id, Stage::plan);
    try {
      const Support support = algorithm.supports(problem_, device_.info());
      if (!support) {
        settle(record, support.reason(), support.why());
        return false;
      }
      const PlanOptions options{task_.group.common.workspace_cap.value_or(INT64_MAX),
                                task_.group.common.threads, task_.group.common.knobs,
                                [this] { sink_.alive(); }};
      const auto begin = Clock::now();
      candidate.plan = algorithm.plan(problem_, device_, options);
      candidate.plan_seconds = seconds_since(begin);
      record.operations = candidate.plan->operations().value_or(OperationCount{});
      sink_.planned(algorithm.info().id, record.operations);
      record.implementation = candidate.plan->implementation();
      record.workspace_bytes = candidate.plan->workspace_bytes();
      if (const LibraryAnswer* answer = candidate.plan->answer()) record.answer = *answer;
      return within_limits(record, options.workspace_cap);
    } catch (...) {
      settle_failure(record, std::current_exception(), Stage::plan);
      return false;
    }
  }

  bool within_limits(ResultRecord& record, int64_t cap) const {
    const DeviceInfo& info = device_.info();
    if (record.workspace_bytes > cap) {
      settle(record, Reason::workspace_over_cap, over_cap_text(record.workspace_bytes, cap));
      return false;
    }
    int64_t needed = verifying_bytes(problem_, info);
    if (task_.protocol.measure)
      needed = std::max(needed, measuring_bytes(problem_, info, task_.group.common.cache));
    needed += record.workspace_bytes;
    if (needed <= info.memory_bytes) return true;
    settle(record, Reason::out_of_memory,
           fmt::format("tensors, their copies and the workspace take {} bytes: the device has {}", needed,
                       info.memory_bytes));
    return false;
  }

  // Runs `check` on each candidate; one that throws is reported and dropped, as is one whose check says
  // false.
  template <typename Check>
  void keep_if(Candidates& candidates, Check check, Stage stage) {
    std::erase_if(candidates, [&](Candidate& c) {
      sink_.begin(c.record.key.algorithm, stage);
      try {
        if (check(c)) return false;
      } catch (...) {
        settle_failure(c.record, std::current_exception(), stage);
      }
      sink_.record(c.record);
      return true;
    });
  }

  void measure_batch(std::span<Candidate> batch) {
    std::vector<Candidate*> ready;
    for (Candidate& c : batch)
      if (allocate_workspace(c)) ready.push_back(&c);
    if (ready.empty()) return;
    Candidate* current = ready.front();
    sink_.begin(current->record.key.algorithm, Stage::measure);  // the tensors' copies are made first
    try {
      measure_ready(ready, current);
    } catch (const DeviceLost&) {
      settle_failure(current->record, std::current_exception(), Stage::measure);
    } catch (...) {  // a candidate's own exceptions are caught below it: this is the tensors' memory
      for (Candidate* c : ready) settle_failure(c->record, std::current_exception(), Stage::measure);
    }
  }

  bool allocate_workspace(Candidate& c) {
    try {
      c.workspace = Buffer(device_, static_cast<size_t>(c.plan->workspace_bytes()));
      return true;
    } catch (...) {
      settle_failure(c.record, std::current_exception(), Stage::measure);
      return false;
    }
  }

  // `current` is kept at the candidate that is being measured.
  void measure_ready(const std::vector<Candidate*>& candidates, Candidate*& current) {
    std::vector<MeasureCandidate> inputs;
    for (Candidate* c : candidates) inputs.push_back({c->record.key.algorithm, c->plan.get(), &c->workspace});
    const GroupMeasurement measured =
        measure_group(problem_, inputs, device_, *queue_, measure_options(), [&](size_t index) {
          current = candidates[index];
          sink_.begin(inputs[index].id, Stage::measure);
        });
    for (size_t i = 0; i < candidates.size(); ++i) take(measured.results[i], *candidates[i]);
    sink_.benchmark(nlohmann::ordered_json::parse(measured.benchmark_json));
  }

  // A candidate that failed has no time: its few samples would look like a measurement.
  void take(const MeasureResult& result, Candidate& candidate) {
    ResultRecord& record = candidate.record;
    record.health = result.health;
    if (result.failure) return settle_failure(record, result.failure, Stage::measure);
    record.time = result.time;
    record.time->plan_seconds = candidate.plan_seconds;
    if (is_wrong(candidate)) return;
    const Health& health = record.health;
    const Reason throttled = health.throttled ? Reason::throttled : Reason::none;
    settle(record, health.disturbed ? Reason::disturbed : throttled, health.disturbed_by);
  }

  MeasureOptions measure_options() const {
    const CaseKey& key = task_.group.common;
    MeasureOptions options = convscope::measure_options(task_, device_.info().kind);
    options.seed = key.seed;
    options.circumstances = fmt::format("network={} layer={} threads={} cache={} workspace_cap={}",
                                        key.network, key.layer, key.threads, name(key.cache),
                                        key.workspace_cap ? std::to_string(*key.workspace_cap) : "inf");
    if (key.device_index > 0) options.circumstances += fmt::format(" device={}", name(key.device_id()));
    options.known_cores = cores_of(ceilings_);
    return options;
  }

  const GroupTask& task_;
  const ConvProblem& problem_;
  Device& device_;
  std::unique_ptr<Queue> queue_;
  const Ceilings& ceilings_;
  GroupSink& sink_;
  std::unique_ptr<Verification> verification_;
};

}  // namespace

std::string_view name(Stage stage) {
  constexpr std::string_view names[] = {"plan", "verify", "measure", "verify_again"};
  return names[static_cast<size_t>(stage)];
}

ResultRecord blank_record(const GroupTask& task, const AlgorithmInfo& algorithm, const DeviceInfo& device,
                          const Ceilings& ceilings) {
  ResultRecord record;
  record.key = candidate_of(task.group, algorithm.id);
  record.sampling = task.protocol.sampling;
  record.algorithm = algorithm;
  record.device = device;
  record.ceilings = ceilings;
  return record;
}

MeasureOptions measure_options(const GroupTask& task, DeviceKind kind) {
  MeasureOptions options;
  options.sampling = task.protocol.sampling;
  options.cache = task.group.common.cache;
  if (kind == DeviceKind::cuda) adapt_to_gpu(options);
  return options;
}

void run_group(const GroupTask& task, const Registry& registry, Device& device, const Ceilings& ceilings,
               GroupSink& sink) {
  GroupRun run(task, device, ceilings, sink);
  Candidates candidates = run.plan_all(registry);
  if (candidates.empty()) return;
  run.verify_all(candidates);
  run.report_untimed(candidates);
  run.measure_all(candidates);
  run.verify_again(candidates);
}

}  // namespace convscope
