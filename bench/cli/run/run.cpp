#include "bench/cli/run/run.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "bench/cli/hang_watch.hpp"
#include "bench/core/error.hpp"
#include "bench/measure/other_programs.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/format.hpp"
#include "bench/runner/cases.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/environment.hpp"
#include "bench/runner/isolation.hpp"
#include "bench/runner/other_loads.hpp"
#include "bench/runner/resolution.hpp"

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
  suite.epilogues = {layer.shape.epilogue};
  return suite;
}

// What is left of a network has no graph, and `run` does not look at it.
void forget_graph(Suite& suite) {
  suite.graph.clear();
  for (Layer& layer : suite.layers) {
    layer.reads.clear();
    layer.before.clear();
    std::erase_if(layer.after,
                  [](const LayerOperation& operation) { return operation.kind == OperationKind::add; });
  }
}

// Leaves the layers that a pattern matches, and the suites that have one. Throws UsageError for a pattern
// that matches none.
void keep_layers(const std::vector<std::string>& patterns, std::vector<Suite>& suites) {
  std::vector<std::string> names;
  for (const Suite& suite : suites)
    for (const Layer& layer : suite.layers) names.push_back(layer.name);
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(names, [&](const std::string& name) { return matches_glob(pattern, name); }))
      throw UsageError(fmt::format("--layer: found \"{}\", which matches no layer; there are {}{}", pattern,
                                   comma_list(names), did_you_mean(pattern, names)));
  for (Suite& suite : suites) {
    std::erase_if(suite.layers, [&](const Layer& layer) {
      return std::ranges::none_of(patterns,
                                  [&](const auto& pattern) { return matches_glob(pattern, layer.name); });
    });
    suite.flag_of["layers"] = "--layer";
    forget_graph(suite);
  }
  std::erase_if(suites, [](const Suite& suite) { return suite.layers.empty(); });
}

std::vector<Suite> load_suites(const RunOptions& options) {
  std::vector<Suite> suites;
  if (!options.problem.empty()) suites.push_back(suite_of_case(options.problem));
  for (const std::string& config : options.configs)
    if (options.configs.size() == 1 || !is_schema(config)) suites.push_back(load_suite(config));
  for (Suite& suite : suites) {
    apply(options.overrides, suite);
    if (!options.measure) suite.measuring.cache.resize(1);  // correctness does not depend on it
  }
  if (!options.layers.empty()) keep_layers(options.layers, suites);
  return suites;
}

// What the machine can resolve, of each device and number of threads, read once.
class Resolutions {
 public:
  explicit Resolutions(const DeviceList& devices) : devices_(devices) {}

  double width(const CaseKey& key) {
    const auto id = std::pair(name(key.device_id()), key.threads);
    const auto [known, is_new] = known_.try_emplace(id);
    if (is_new) known->second = known_resolution(*devices_.find(key.device_id()), key.threads);
    return confidence_width(known->second);
  }

  nlohmann::ordered_json json() const {
    auto all = nlohmann::ordered_json::array();
    for (const auto& [id, found] : known_)
      if (found)
        all.push_back({{"device", id.first},
                       {"threads", id.second},
                       {"within_run", found->within_run},
                       {"between_runs", found->between_runs},
                       {"pairs", found->pairs}});
    return all;
  }

 private:
  const DeviceList& devices_;
  std::map<std::pair<std::string, int>, std::optional<Resolution>> known_;
};

std::vector<GroupTask> tasks_of(const Suite& suite, const RunOptions& options, const Registry& registry,
                                const DeviceList& devices, Resolutions& resolutions) {
  Protocol protocol{suite.measuring.sampling, options.measure, options.blocker};
  protocol.sampling.repeat = options.repeat;
  std::vector<GroupTask> tasks;
  for (Group& group : expand(suite, registry, devices)) {
    group.common.knobs = options.knobs;
    if (!suite.measuring.is_width_given) protocol.sampling.confidence_width = resolutions.width(group.common);
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

// out/2026-01-31T12-34-56, or that with a number behind it when two runs start within one second.
std::string default_folder() {
  std::string time = utc_now();
  for (char& c : time)
    if (c == ':') c = '-';
  const std::string folder = "out/" + time.substr(0, time.find('Z'));
  std::error_code unknown;  // what is wrong with the folder, making it will say
  if (!std::filesystem::exists(folder, unknown)) return folder;
  for (int number = 2;; ++number)
    if (const auto next = fmt::format("{}-{}", folder, number); !std::filesystem::exists(next, unknown))
      return next;
}

// Of an object; null where there is none of that name, or no object.
nlohmann::ordered_json member(const nlohmann::ordered_json& object, const char* name) {
  return object.is_object() ? object.value(name, nlohmann::ordered_json()) : nlohmann::ordered_json();
}

// The program that began a run, from the run's environment.
std::string program_of(const nlohmann::ordered_json& environment) {
  const auto program = member(environment, "program");
  return dump_json(member(program, "version")) + " commit " + dump_json(member(program, "commit"));
}

// A device without what may change from one boot to the next.
nlohmann::ordered_json identity_of(nlohmann::ordered_json device) {
  if (device.is_object()) {
    device.erase("memory_bytes");
    device.erase("index");  // older runs do not say it
  }
  return device;
}

// The device of that id in an environment; the CPU for the emulator, null where it is missing.
nlohmann::ordered_json device_in(const nlohmann::ordered_json& environment, DeviceId device) {
  if (device.kind != DeviceKind::cuda) return member(environment, "device");
  if (device.index == 0) return member(environment, "gpu");
  for (const auto& other : member(environment, "other_gpus"))
    if (member(other, "index") == device.index) return other;
  return nullptr;
}

// Times of two machines do not belong in one run, nor one's ceilings beside the other's times.
void refuse_another_device(const std::string& folder, const nlohmann::ordered_json& begun,
                           const nlohmann::ordered_json& here) {
  if (identity_of(begun) != identity_of(here))
    throw UsageError(
        fmt::format("{}: was begun on another device: {}; this is {}. Go on there, or begin anew "
                    "with --out",
                    folder, dump_json(begun), dump_json(here)));
}

// Records in the log that the run continues here; warns when another program began it.
void note_resumption(RunLog& log, const std::vector<DeviceInfo>& devices, const Program& program) {
  if (log.tasks_left().empty()) return;
  const auto environment = describe_environment(devices, program.registry);
  const auto& begun = log.plan().environment;
  for (const GroupTask& task : log.tasks_left()) {
    const DeviceId device = task.group.common.device_id();
    refuse_another_device(log.folder(), device_in(begun, device), device_in(environment, device));
  }
  for (const ResultRecord& record : log.records())
    if (record.time && record.time->protocol != kProtocol)
      throw UsageError(
          fmt::format("{}: was begun by version {} of the measuring protocol, this program measures by {}, "
                      "and such times are not compared; begin anew with --out",
                      log.folder(), record.time->protocol, kProtocol));
  if (program_of(begun) != program_of(environment))
    fmt::print(program.errors, "convscope: the run was begun by {}, this is {}\n", program_of(begun),
               program_of(environment));
  log.add_resumption(environment);
}

// Runs what the log has left, and prints and writes what comes of it.
int carry_out(RunLog& log, const RunOptions& options, const Program& program, StopSignal& stop) {
  RunConsole console(program, log);
  look_for_other_programs(log, options.wait_for_quiet, stop, console);
  IsolationOptions isolation;
  isolation.isolate = options.isolate;
  const SuiteEnd end = run_suite(log, program.registry, isolation, stop, console);
  const bool all_good = console.finish();
  const bool finished = end.kind == SuiteEnd::Kind::finished;
  const bool lost = end.kind == SuiteEnd::Kind::device_lost;
  if (!finished) {
    fmt::print(program.errors, "convscope: {}; go on with: {} {} --resume {}{}\n",
               lost ? end.why : "interrupted", program_at_hand(),
               program.argv.size() > 1 ? program.argv[1] : "run", shell_word(log.folder()),
               options.record.empty() ? "" : " --record " + shell_word(options.record));
    program.errors.flush();
  }
  if (!options.record.empty())  // behind all that is said, as it may throw
    write_file_atomically(options.record, dump_json(recorded_answers(log.records()), 2) + "\n");
  if (finished) return all_good ? 0 : 1;
  if (lost) return kDeviceLost;
  if (!options.isolate) std::_Exit(kInterrupted);  // the thread is still at work
  return kInterrupted;
}

// Either verb. Returns the exit code, one of those that the help names. Throws UsageError.
int run(const RunOptions& options, const Program& program) {
  StopSignal stop;  // before a driver has threads that would not hold its signals back
  std::optional<EndAtStop> planning(std::in_place, stop);
  if (!options.record.empty()) check_can_be_written(options.record);  // before --out's folder is there
  const DeviceList devices = find_devices();
  if (!options.resume.empty()) {
    planning.reset();
    RunLog log = RunLog::open(options.resume);
    note_resumption(log, devices.present, program);
    return carry_out(log, options, program, stop);
  }
  RunPlan plan = make_plan(options, program.argv, program.registry, devices);
  if (options.dry_run) {
    print_dry_run(program.out, plan, program.registry);
    return 0;
  }
  planning.reset();  // a run that has a journal ends with its files written
  RunLog log(options.out.empty() ? default_folder() : options.out, std::move(plan));
  return carry_out(log, options, program, stop);
}

}  // namespace

void look_for_other_programs(const RunLog& log, const std::optional<double>& wait_seconds, StopSignal& stop,
                             RunObserver& observer) {
  std::set<DeviceId> devices;
  for (const GroupTask& task : log.tasks_left())
    if (task.protocol.measure) devices.insert(task.group.common.device_id());
  const std::string loads = other_loads(devices);
  if (loads.empty()) return;
  if (!wait_seconds) {
    observer.warn(loads +
                  ". Records that they disturb are marked; close them, or wait with --wait-for-quiet S");
    return;
  }
  observer.warn(fmt::format("{}; waiting until they do not, {} s at most", loads, *wait_seconds));
  const bool quiet = wait_for_quiet(
      *wait_seconds, [&] { return stop.requested(); }, [&] { return other_loads(devices).empty(); });
  observer.warn(quiet ? "the machine is quiet"
                      : "the machine is not quiet; records that they disturb are marked");
}

RunPlan make_plan(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry,
                  const DeviceList& devices) {
  return make_plan(load_suites(options), options, argv, registry, devices);
}

RunPlan make_plan(const std::vector<Suite>& suites, const RunOptions& options,
                  const std::vector<std::string>& argv, const Registry& registry, const DeviceList& devices) {
  RunPlan plan;
  plan.argv = argv;
  plan.config = nlohmann::ordered_json::array();
  std::set<std::string> groups;
  Resolutions resolutions(devices);
  for (const Suite& suite : suites) {
    plan.config.push_back(to_json(suite));
    for (GroupTask& task : tasks_of(suite, options, registry, devices, resolutions)) {
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
  plan.environment["resolution"] = resolutions.json();
  if (options.shard.count > 1)
    plan.environment["shard"] = {{"index", options.shard.index}, {"count", options.shard.count}};
  return plan;
}

Verb run_verb() {
  return make_verb<RunOptions>("run", "Verify and time every algorithm on every layer and pass of a config.",
                               add_flags, run, check_run);
}

Verb verify_verb() {
  return make_verb<RunOptions>("verify",
                               "Check every algorithm's results on every layer and pass; time nothing.",
                               add_verify_flags, run, check_run);
}

}  // namespace convscope
