// What --dry-run prints: the plan of a run, and how long it would take.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "bench/cli/run/run.hpp"
#include "bench/cli/run/run_estimate.hpp"
#include "bench/core/counted.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/run_group.hpp"

namespace convscope {
namespace {

using DeviceThreads = std::pair<DeviceId, int>;

struct Workplace {
  DeviceInfo info;
  Pace pace;
};

// Devices that plans are made for. Of a CPU only, where a plan costs next to nothing: no other is opened.
class Planner {
 public:
  // Null for a device that is not opened.
  Device* at(const DeviceThreads& place) {
    if (place.first.kind != DeviceKind::cpu) return nullptr;
    // Its threads are those of the process.
    if (!device_ || place_ != place) device_ = make_device(place.first, {.threads = place.second});
    place_ = place;
    return device_.get();
  }

 private:
  std::unique_ptr<Device> device_;
  DeviceThreads place_;
};

// As `why` says where it is refused. A planner that fails is asked again by the run, whose record says so.
PacedCandidate pace(const Algorithm& algorithm, const GroupTask& task, const Workplace& at, Device* device,
                    std::string& why) {
  const CaseKey& key = task.group.common;
  PacedCandidate candidate;
  candidate.exact_on_integers = algorithm.info().exact_on_integers;
  candidate.is_timed = algorithm.info().candidate;
  const Support support = algorithm.supports(key.problem, at.info);
  why = support.why();
  CaseKey own = key;
  own.algorithm = algorithm.info().id;
  candidate.has_prepare = at.pace.preparing.contains(own.algorithm);
  candidate.has_phases = at.pace.phased.contains(own.algorithm);
  std::optional<OperationCount> operations;
  if (support && device != nullptr) try {
      const int64_t cap = key.workspace_cap.value_or(INT64_MAX);
      const auto plan = plan_within_cap(algorithm, key.problem, *device, {cap, key.threads, key.knobs});
      candidate.workspace_bytes = plan->workspace_bytes();
      candidate.has_prepare = plan->has_prepare();
      operations = plan->operations();
    } catch (const Refused& refusal) {
      why = refusal.what();
    } catch (const std::exception&) {
    }
  candidate.run_seconds = run_seconds(own, operations, at.pace);
  if (const auto planned = at.pace.plan_seconds_of.find(own.algorithm);
      planned != at.pace.plan_seconds_of.end())
    candidate.plan_seconds = planned->second;
  if (evicts(measure_options(task, key.device)))
    candidate.evict_seconds = evict_seconds(key, candidate.workspace_bytes);
  return candidate;
}

// Prints the candidates, then the refusals. Returns the candidates.
std::vector<PacedCandidate> print_task(std::ostream& out, const GroupTask& task, const Registry& registry,
                                       const Workplace& at, Device* device) {
  const CaseKey& key = task.group.common;
  fmt::print(out, "{} {}: {}, {} threads, {} cache\n", key.network, key.layer, to_line(key.problem),
             key.threads, name(key.cache));
  std::string refusals;
  std::vector<PacedCandidate> candidates;
  for (const std::string& id : task.group.algorithms) {
    std::string why;
    const PacedCandidate candidate = pace(*registry.find(id), task, at, device, why);
    if (!why.empty()) {
      refusals += fmt::format("    {} refuses: {}\n", id, one_line(why));
      continue;
    }
    fmt::print(out, "    {}\n", id);
    candidates.push_back(candidate);
  }
  out << refusals;
  return candidates;
}

}  // namespace

void print_dry_run(std::ostream& out, const RunPlan& plan, const Registry& registry) {
  std::map<DeviceThreads, Workplace> workplaces;
  std::set<DeviceThreads> measured_with;
  Planner planner;
  double seconds = 0;
  size_t candidates = 0;
  for (const GroupTask& task : plan.tasks) {
    const CaseKey& key = task.group.common;
    const DeviceThreads place{key.device_id(), key.threads};
    if (!workplaces.contains(place)) {
      const DeviceInfo info = describe_device(place.first);
      workplaces[place] = {info, pace_of(info, key.threads)};
    }
    const Workplace& at = workplaces[place];
    if (task.protocol.measure && key.device != DeviceKind::emulator) measured_with.insert(place);
    const auto paced = print_task(out, task, registry, at, planner.at(place));
    candidates += task.group.algorithms.size();
    seconds += estimate(task, paced, at.info, at.pace).total();
  }
  seconds += run_overhead_seconds(seconds, static_cast<int64_t>(measured_with.size()));
  fmt::print(out, "{}, {}, about {:.0f} s on a quiet machine\n", counted(plan.tasks.size(), "group"),
             counted(candidates, "candidate"), seconds);
}

}  // namespace convscope
