#include "bench/cli/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "bench/cli/noise_floor.hpp"
#include "bench/cli/run_console.hpp"
#include "bench/cli/terminal.hpp"
#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"
#include "bench/runner/isolation.hpp"
#include "bench/runner/run_suite.hpp"

namespace convscope {
namespace {

constexpr int kDeviceLost = 3, kInterrupted = 130;

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

void print_dry_run(const RunPlan& plan, const Registry& registry) {
  double seconds = 0;
  size_t candidates = 0;
  for (const GroupTask& task : plan.tasks) {
    GroupTask supported = task;
    std::string refused;
    const DeviceInfo device = describe_device(task.group.common.device_id());
    std::erase_if(supported.group.algorithms, [&](const std::string& id) {
      const Support support = registry.find(id)->supports(task.group.common.problem, device);
      if (!support) refused += fmt::format("\n    {} refuses: {}", id, support.why());
      return !support;
    });
    const CaseKey& key = task.group.common;
    std::cout << fmt::format("{} {}: {}, {} threads, {} cache\n", key.network, key.layer,
                             to_line(key.problem), key.threads, name(key.cache));
    for (const std::string& id : supported.group.algorithms) std::cout << fmt::format("    {}\n", id);
    std::cout << fmt::format("{}{}", refused.empty() ? "" : refused.substr(1), refused.empty() ? "" : "\n");
    candidates += task.group.algorithms.size();
    seconds += estimated_seconds(supported);
  }
  std::cout << fmt::format("{} groups, {} candidates, roughly {:.0f} s\n", plan.tasks.size(), candidates,
                           seconds);
}

// Which program a run is of, as its environment has it.
std::string program_of(const nlohmann::ordered_json& environment) {
  const auto& program = environment.at("program");
  return program.at("version").dump() + " commit " + program.at("commit").dump();
}

// A device without what may change from one boot to the next.
nlohmann::ordered_json identity_of(nlohmann::ordered_json device) {
  if (device.is_object()) {
    device.erase("memory_bytes");
    device.erase("index");  // older runs do not say it
  }
  return device;
}

// The device of that name, as an environment describes it; the CPU for the emulator, null where it is not.
nlohmann::ordered_json device_in(const nlohmann::ordered_json& environment, DeviceId device) {
  if (device.kind != DeviceKind::cuda) return environment.value("device", nlohmann::ordered_json());
  if (device.index == 0) return environment.value("gpu", nlohmann::ordered_json());
  for (const auto& other : environment.value("other_gpus", nlohmann::ordered_json::array()))
    if (other.value("index", 0) == device.index) return other;
  return nullptr;
}

// The times of two machines do not belong into one table, nor does one's ceiling beside the other's time.
void refuse_another_device(const std::string& folder, const nlohmann::ordered_json& begun,
                           const nlohmann::ordered_json& here) {
  if (identity_of(begun) != identity_of(here))
    throw UsageError(
        fmt::format("{}: was begun on another device: {}; this is {}. Go on there, or begin anew "
                    "with --out",
                    folder, dump_json(begun), dump_json(here)));
}

// Notes in the log that the run goes on from here, and warns when another program began it.
void note_resumption(RunLog& log, const Registry& registry, const std::vector<DeviceInfo>& devices) {
  if (log.tasks_left().empty()) return;
  const auto environment = describe_environment(devices, registry);
  const auto& begun = log.plan().environment;
  for (const GroupTask& task : log.tasks_left()) {
    const DeviceId device = task.group.common.device_id();
    refuse_another_device(log.folder(), device_in(begun, device), device_in(environment, device));
  }
  if (program_of(begun) != program_of(environment))
    std::cerr << fmt::format("convscope: the run was begun by {}, this is {}\n", program_of(begun),
                             program_of(environment));
  log.add_resumption(environment);
}

// Whether the device's clock is not one of this world: a stand-in for a GPU says so in its name. Its times
// may be printed and never be published.
bool has_virtual_time(const DeviceInfo& device) {
  return device.name.ends_with("(virtual time)");
}

// Returns how many there are.
size_t print_failures(const std::vector<ResultRecord>& records) {
  std::vector<const ResultRecord*> failures;
  for (const ResultRecord& record : records)
    if (is_failure(record.outcome)) failures.push_back(&record);
  if (!failures.empty())
    std::cout << fmt::format("\n{} of {} candidates are wrong or failed:\n", failures.size(), records.size());
  for (const ResultRecord* record : failures)
    std::cout << fmt::format("  {} {} {}: {} {}: {}\n", record->key.network, record->key.layer,
                             name(record->key.problem.pass), record->key.algorithm, name(record->outcome),
                             record->note);
  return failures.size();
}

// The whole of a run that has its folder already.
int carry_out(RunLog& log, const RunOptions& options, const Registry& registry, StopSignal& stop) {
  const Terminal terminal = describe_terminal();
  RunConsole console(terminal, log);
  IsolationOptions isolation;
  isolation.isolate = options.isolate;
  const SuiteEnd end = run_suite(log, registry, isolation, stop, console);
  console.finish();

  if (options.measure) {
    print_roll_up(std::cout, log.records(), {terminal.colour});
    print_noise_floor(std::cout, log.records());
  }
  if (std::any_of(log.records().begin(), log.records().end(),
                  [](const ResultRecord& record) { return has_virtual_time(record.device); }))
    std::cout << "\nThe device's time is virtual: no time above means anything, none may be published.\n";
  const size_t failures = print_failures(log.records());
  std::cout << fmt::format("\n{} rows: {}/results.json, results.csv, benchmark.json\n", log.records().size(),
                           log.folder());
  std::cout.flush();
  if (!options.record.empty())
    write_file_atomically(options.record, dump_json(recorded_answers(log.records()), 2) + "\n");
  if (end.kind == SuiteEnd::Kind::finished) return failures == 0 ? 0 : 1;
  const bool lost = end.kind == SuiteEnd::Kind::device_lost;
  std::cerr << fmt::format("convscope: {}; go on with: convscope {} --resume {}\n",
                           lost ? end.why : "interrupted",
                           log.plan().argv.size() > 1 ? log.plan().argv[1] : "run", log.folder());
  if (lost) return kDeviceLost;
  if (!options.isolate) std::_Exit(kInterrupted);  // the thread is still at work
  return kInterrupted;
}

}  // namespace

int run(const RunOptions& options, const std::vector<std::string>& argv, const Registry& registry) {
  const DeviceList devices = find_devices();
  if (!options.resume.empty()) {
    StopSignal stop;
    RunLog log = RunLog::open(options.resume);
    note_resumption(log, registry, devices.present);
    return carry_out(log, options, registry, stop);
  }
  RunPlan plan = make_plan(options, argv, registry, devices);
  if (options.dry_run) {
    print_dry_run(plan, registry);
    return 0;
  }
  StopSignal stop;  // before the journal is begun: a run that has one ends with its files written
  RunLog log(options.out.empty() ? default_folder() : options.out, std::move(plan));
  return carry_out(log, options, registry, stop);
}

}  // namespace convscope
