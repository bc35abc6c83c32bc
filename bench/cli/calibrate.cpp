#include "bench/cli/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "bench/cli/run.hpp"
#include "bench/core/error.hpp"
#include "bench/runner/resolution.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;

constexpr int kBusy = 1, kInterrupted = 130;
constexpr int64_t kSamplesOfASeries = 60;

Layer layer(const std::string& name, const std::string& problem) {
  Layer made;
  made.name = name;
  made.shape = parse_problem(problem);
  return made;
}

// Those that will not refuse; 1 where all do.
double candidates_of(const RunPlan& plan, const Registry& registry, const DeviceInfo& device) {
  double count = 0;
  for (const GroupTask& task : plan.tasks)
    for (const std::string& id : task.group.algorithms)
      count += registry.find(id)->supports(task.group.common.problem, device) ? 1 : 0;
  return std::max(count, 1.0);
}

bool is_recent(const std::string& folder) {
  std::error_code unknown;
  const auto written = fs::last_write_time(fmt::format("{}/{}/results.json", folder, kRuns), unknown);
  return !unknown && fs::file_time_type::clock::now() - written < std::chrono::days(kKeptDays);
}

void print_resolution(std::ostream& out, const Resolution& found, const std::string& name, int threads,
                      const std::string& folder) {
  fmt::print(out,
             "{}, {} threads: nine of ten measurements of the same code agree within {:.1f}% in one run ({} "
             "pairs) and {:.1f}% in two.\n"
             "Series end when the median's interval is within {:.1f}%. Kept in {}\n",
             name, threads, 100 * found.within_run, found.pairs, 100 * found.between_runs,
             100 * confidence_width(found), folder);
}

// Replaces what is kept by the finished runs.
void keep(const std::string& finished, const std::string& folder) {
  std::error_code why;
  fs::remove_all(folder, why);
  fs::rename(finished, folder, why);
  if (why) throw UsageError(fmt::format("{}: cannot be replaced by {}: {}", folder, finished, why.message()));
}

// One run into that folder; its records, or nothing where it was interrupted.
std::optional<std::vector<ResultRecord>> run_once(const CalibrateOptions& options, const Suite& suite,
                                                  const DeviceList& devices, const std::string& folder,
                                                  const Program& program) {
  RunOptions run;
  run.repeat = true;
  RunPlan plan = make_plan({suite}, run, program.argv, program.registry, devices);
  const double candidates = candidates_of(plan, program.registry, *devices.find(suite.devices[0]));
  for (GroupTask& task : plan.tasks) task.protocol.time_limit_seconds = options.seconds / kRuns / candidates;
  StopSignal stop;
  RunLog log(folder, std::move(plan));
  std::ostream nowhere(nullptr);  // the tables of this run are not what was asked for
  const Program quiet{program.argv,   program.registry, nowhere,
                      program.errors, program.terminal, program.device_maker};
  RunConsole console(quiet, log);
  look_for_other_programs(log, std::nullopt, stop, console);
  const SuiteEnd end = run_suite(log, program.registry, {}, stop, console);
  console.finish(true);
  if (end.kind == SuiteEnd::Kind::stopped) return std::nullopt;
  return log.records();
}

int calibrate(const CalibrateOptions& options, const Program& program) {
  const DeviceList devices = find_devices();
  const DeviceInfo device = describe_device(options.device.value_or(DeviceId(DeviceKind::cpu)));
  const bool is_cpu = device.kind == DeviceKind::cpu;
  const int threads = !is_cpu ? 1 : options.threads == 0 ? device.cores : options.threads;
  const std::string folder = resolution_folder(device, threads);
  if (options.if_unknown && is_recent(folder)) {
    if (const auto known = known_resolution(device, threads)) {
      print_resolution(program.out, *known, device.name, threads, folder);
      return 0;
    }
  }
  const std::string unfinished = folder + ".new";
  std::error_code unknown;  // what is wrong with the folder, making the journal will say
  fs::remove_all(unfinished, unknown);
  std::vector<std::vector<ResultRecord>> runs;
  for (int run = 1; run <= kRuns; ++run) {
    const auto records = run_once(options, calibration_suite(device.id(), threads), devices,
                                  fmt::format("{}/{}", unfinished, run), program);
    if (!records) return kInterrupted;
    runs.push_back(*records);
  }
  const auto found = resolution_of(runs);
  if (!found) {
    fmt::print(
        program.errors,
        "convscope: too many candidates were disturbed or throttled to say what this machine resolves; "
        "what was measured is in {}. Close other programs and run this again\n",
        unfinished);
    return kBusy;
  }
  keep(unfinished, folder);
  print_resolution(program.out, *found, device.name, threads, folder);
  return 0;
}

}  // namespace

Suite calibration_suite(DeviceId device, int threads) {
  Suite suite;
  suite.name = "calibration";
  suite.file = "calibrate";
  suite.devices = {device};
  suite.passes = {Pass::forward};
  suite.threads = {threads};
  suite.layers = {layer("conv1", "forward n=16 c=3 hw=227x227 k=96 rs=11x11 stride=4x4"),
                  layer("conv3", "forward n=16 c=256 hw=13x13 k=384 rs=3x3 pad=1x1")};
  suite.measuring.min_samples = suite.measuring.max_samples = kSamplesOfASeries;
  suite.measuring.is_width_given = true;
  return suite;
}

void add_flags(CLI::App& verb, CalibrateOptions& options) {
  add_device(verb, options.device, "The device; the CPU when left out.");
  add_threads(verb, options.threads);
  verb.add_option("--seconds", options.seconds,
                  "Seconds for all samples together (60); verification comes on top.")
      ->type_name("S")
      ->check(CLI::Range(0.01, 86400.0));
  verb.add_flag("--if-unknown", options.if_unknown,
                fmt::format("Do nothing where it was measured within the last {} days.", kKeptDays));
  verb.footer(
      "Three runs, in each of which every candidate of two layers is measured twice, interleaved. They are "
      "kept\n"
      "in the user's cache ($CONVSCOPE_CACHE, $XDG_CACHE_HOME/convscope or ~/.cache/convscope), for each "
      "machine,\n"
      "device and number of threads. `convscope run` then measures until the interval is as narrow as two\n"
      "measurements of a run agree, and no longer; `convscope-report compare` takes its noise floor from how "
      "two\n"
      "runs agree.\n"
      "Exit codes: 0 measured or known; 1 too busy a machine; 2 bad usage; 130 interrupted.\n\n"
      "Example:\n  convscope calibrate --if-unknown");
}

Verb calibrate_verb() {
  return make_verb<CalibrateOptions>(
      "calibrate", "Measure how far apart this machine puts two times of the same code, and keep it.",
      add_flags, calibrate);
}

}  // namespace convscope
