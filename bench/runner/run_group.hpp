// run_group(): the whole of convscope for one problem, in one function: supports? -> plan -> workspace cap ->
// memory -> verify -> measure side by side -> verify again -> ResultRecord. It runs in the caller's process;
// surviving a candidate that crashes or hangs is bench/runner/isolation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/algorithm/registry.hpp"
#include "bench/device/device.hpp"
#include "bench/measure/measure_group.hpp"
#include "bench/record/result.hpp"
#include "bench/runner/cases.hpp"

namespace convscope {

// What is being done to a candidate; each has a time limit of its own.
enum class Stage { plan, verify, measure, verify_again };
inline constexpr auto kStages = enumerators<Stage::verify_again>();
std::string_view name(Stage);  // as spelled above

// Where the events of a group go. begin() comes before anything that could crash or hang, so that the last
// one names the culprit. record() comes once per candidate, as soon as nothing can change it any more.
class GroupSink {
 public:
  virtual ~GroupSink() = default;
  virtual void begin(const std::string& algorithm, Stage stage) = 0;
  // Once per candidate that has a plan, before its next stage: what the plan counts; all zero where it does
  // not say.
  virtual void planned(const std::string& /*algorithm*/, const OperationCount& /*operations*/) {}
  virtual void record(const ResultRecord& record) = 0;
  virtual void verified(const ResultRecord&) {}  // before timing, with success; record() is still to come
  virtual void benchmark(const nlohmann::ordered_json& report) = 0;  // Google Benchmark's own
  virtual void alive() {}                                            // what was begun goes on
};

// How a group is measured on a device of this kind: by its protocol, as far as that is known without the
// device.
MeasureOptions measure_options(const GroupTask& task, DeviceKind kind);

// Runs every candidate of the group on `device`, which must already have the group's number of threads. A
// refusal, a wrong result, a thrown exception and a lack of memory are records, not errors. Throws DeviceLost
// once the candidate that lost the device has its record: the others, which have none yet, need a fresh
// process.
void run_group(const GroupTask& task, const Registry& registry, Device& device, const Ceilings& ceilings,
               GroupSink& sink);

// The record of a candidate before anything is known about its outcome.
ResultRecord blank_record(const GroupTask& task, const AlgorithmInfo& algorithm, const DeviceInfo& device,
                          const Ceilings& ceilings);

}  // namespace convscope
