// make_plan() of run.hpp.
#include <algorithm>
#include <set>

#include "bench/cli/run.hpp"
#include "bench/core/error.hpp"
#include "bench/runner/cases.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {
namespace {

// A suite of the one problem of --case, so that flags and checks are those of any other run.
Suite suite_of_case(const std::string& line) {
  Layer layer;
  layer.name = "case";
  layer.shape = parse_problem(line);
  Suite suite;
  suite.name = "case";
  suite.file = "--case";
  suite.layers = {layer};
  for (DeviceKind kind : kDeviceKinds) suite.batch[kind] = {layer.shape.batch};
  suite.passes = {layer.shape.pass};
  suite.math = {layer.shape.math};
  suite.layouts = {layer.shape.layout};
  return suite;
}

std::vector<Suite> load_suites(const RunOptions& options) {
  std::vector<Suite> suites;
  if (!options.problem.empty()) suites.push_back(suite_of_case(options.problem));
  for (const std::string& config : options.configs) suites.push_back(load_suite(config));
  for (Suite& suite : suites) {
    apply(options.overrides, suite);
    if (!options.measure) suite.measuring.cache.resize(1);  // correctness does not depend on it
  }
  return suites;
}

std::vector<GroupTask> tasks_of(const Suite& suite, const RunOptions& options, const Registry& registry,
                                const DeviceList& devices) {
  Protocol protocol = protocol_of(suite.measuring);
  protocol.measure = options.measure;
  protocol.repeat = options.repeat;
  protocol.blocker = options.blocker;
  std::vector<GroupTask> tasks;
  for (Group& group : expand(suite, registry, devices)) {
    group.common.knobs = options.knobs;
    tasks.push_back({std::move(group), protocol});
  }
  return tasks;
}

void keep_shard(const Shard& part, std::vector<GroupTask>& tasks) {
  if (part.count == 1) return;
  std::vector<Group> groups;
  for (const GroupTask& task : tasks) groups.push_back(task.group);
  std::set<std::string> kept;
  for (const Group& group : shard(groups, part.index, part.count)) kept.insert(candidate_key(group.common));
  std::erase_if(tasks,
                [&](const GroupTask& task) { return !kept.contains(candidate_key(task.group.common)); });
}

}  // namespace

RunPlan make_plan(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry,
                  const DeviceList& devices) {
  RunPlan plan;
  plan.argv = argv;
  plan.config = nlohmann::ordered_json::array();
  std::set<std::string> groups;
  for (const Suite& suite : load_suites(options)) {
    plan.config.push_back(to_json(suite));
    for (GroupTask& task : tasks_of(suite, options, registry, devices)) {
      if (!groups.insert(candidate_key(task.group.common)).second)
        throw UsageError(suite.file + ": its network \"" + suite.name + "\" has layer \"" +
                         task.group.common.layer +
                         "\" in common with an earlier config; run each config once");
      plan.tasks.push_back(std::move(task));
    }
  }
  keep_shard(options.shard, plan.tasks);
  plan.environment = describe_environment(devices.present, registry);
  plan.environment["started"] = utc_now();
  if (options.shard.count > 1)
    plan.environment["shard"] = {{"index", options.shard.index}, {"count", options.shard.count}};
  return plan;
}

}  // namespace convscope
