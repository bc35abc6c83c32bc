#include "bench/cli/run/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cli/hang_watch.hpp"
#include "bench/cli/run/run.hpp"
#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/runner/resolution.hpp"

namespace convscope {
namespace {

namespace fs = std::filesystem;

// After so many days a machine's neighbours, kernel or memory may be others.
constexpr int kKeptDays = 30;
// A machine that was busy may soon be quiet.
constexpr int kKeptHoursIfWide = 1;
constexpr int kBusy = 1;
constexpr int64_t kSamplesOfASeries = 60;
constexpr int64_t kBatch = 16;

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

bool is_wide(const Resolution& known) {
  return confidence_width(known) > kWideInterval;
}

bool is_recent(const std::string& folder, const Resolution& known) {
  std::error_code unknown;
  const auto written = fs::last_write_time(fmt::format("{}/{}/results.json", folder, kRuns), unknown);
  const std::chrono::hours kept =
      is_wide(known) ? std::chrono::hours(kKeptHoursIfWide) : std::chrono::days(kKeptDays);
  return !unknown && fs::file_time_type::clock::now() - written < kept;
}

void print_resolution(std::ostream& out, const Resolution& found, const std::string& name, int threads,
                      const std::string& folder) {
  fmt::print(out,
             "{}, {}: nine of ten measurements of the same code agree within {:.1f}% in one run ({} "
             "pairs) and {:.1f}% in two.\n"
             "Series end when the median's interval is within {:.1f}%. Kept in {}\n",
             name, counted(threads, "thread"), 100 * found.within_run, found.pairs, 100 * found.between_runs,
             100 * confidence_width(found), folder);
  if (is_wide(found))
    fmt::print(
        out,
        "That is wide: the machine was busy, even if no reading shows with what, or --seconds is short.\n"
        "Algorithms that are closer cannot be told apart. Calibrate again when it is quieter; --if-unknown\n"
        "does after {}.\n",
        counted(kKeptHoursIfWide, "hour"));
}

// What is the same for every run.
struct Calibration {
  const CalibrateOptions& options;
  const Program& program;
  const DeviceList& devices;
  StopSignal& stop;
};

// Adds the records of a run to `runs` where it finishes. Returns the exit code.
int run_once(const Calibration& all, const Suite& suite, const std::string& folder,
             std::vector<std::vector<ResultRecord>>& runs) {
  const auto& [options, program, devices, stop] = all;
  RunOptions run;
  run.repeat = true;
  RunPlan plan = make_plan({suite}, run, program.argv, program.registry, devices);
  const double candidates = candidates_of(plan, program.registry, *devices.find(suite.devices[0]));
  for (GroupTask& task : plan.tasks)
    task.protocol.sampling.time_limit_seconds = options.seconds / kRuns / candidates;
  RunLog log(folder, std::move(plan));
  std::ostream nowhere(nullptr);  // the tables of this run are not what was asked for
  const Program quiet{program.argv,   program.registry, nowhere,
                      program.errors, program.terminal, program.device_maker};
  RunConsole console(quiet, log);
  look_for_other_programs(log, {}, stop, console);
  const SuiteEnd end = run_suite(log, program.registry, {}, stop, console);
  console.finish();
  if (end.kind == SuiteEnd::Kind::finished) {
    runs.push_back(log.records());
    return 0;
  }
  const bool lost = end.kind == SuiteEnd::Kind::device_lost;
  fmt::print(program.errors, "convscope: {}; what was kept of this machine before stays as it was\n",
             lost ? end.why : "interrupted");
  return lost ? kDeviceLost : kInterrupted;
}

// With the device and number of threads of the suite. Returns the exit code.
int calibrate_one(const Calibration& all, const Suite& suite, const DeviceInfo& device, int threads) {
  const Program& program = all.program;
  const std::string folder = resolution_folder(device, threads);
  if (all.options.if_unknown)
    if (const auto known = known_resolution(device, threads); known && is_recent(folder, *known)) {
      print_resolution(program.out, *known, device.name, threads, folder);
      return 0;
    }
  fmt::print(program.errors, "convscope: calibrating {} with {}, to know how narrow intervals can be\n",
             device.name, counted(threads, "thread"));
  const std::string unfinished = folder + ".new";
  std::error_code unknown;  // what is wrong with the folder, making the journal will say
  fs::remove_all(unfinished, unknown);
  std::vector<std::vector<ResultRecord>> runs;
  for (int run = 1; run <= kRuns; ++run)
    if (const int code = run_once(all, suite, fmt::format("{}/{}", unfinished, run), runs); code != 0)
      return code;
  print_failures(program.errors, runs.front(), true);
  const auto found = resolution_of(runs);
  if (!found) {
    fmt::print(program.errors,
               "convscope: {}, {}: fewer than {} candidates, or fewer than {:.0f}% of them, were "
               "measured twice without being disturbed or throttled, too few to say what it resolves; what "
               "was measured is in {}. Close other programs and run this again\n",
               device.name, counted(threads, "thread"), kMinPairs, 100 * kMinQuiet, unfinished);
    return kBusy;
  }
  replace_folder(unfinished, folder);
  print_resolution(program.out, *found, device.name, threads, folder);
  return 0;
}

// Each device and number of threads that is asked for. The first exit code that is not 0; after it the others
// are calibrated all the same, unless the user interrupted.
int calibrate(const CalibrateOptions& options, const Program& program) {
  StopSignal stop;  // before a driver has threads that would not hold its signals back
  std::optional<EndAtStop> planning(std::in_place, stop);
  Suite suite = calibration_suite();
  apply(options.overrides, suite);
  const DeviceList devices = find_devices();
  std::set<std::pair<DeviceId, int>> wanted;
  for (const Group& group : expand(suite, program.registry, devices)) {
    if (group.common.device == DeviceKind::emulator)
      throw UsageError("--device: found emulator; allowed are devices that have times, as cpu and cuda");
    wanted.emplace(group.common.device_id(), group.common.threads);
  }
  planning.reset();
  int exit_code = 0;
  for (const auto& [device, threads] : wanted) {
    suite.devices = {device};
    suite.threads = {threads};
    const int code = calibrate_one({options, program, devices, stop}, suite, *devices.find(device), threads);
    if (code == kInterrupted) return code;
    if (exit_code == 0) exit_code = code;
  }
  return exit_code;
}

}  // namespace

Suite calibration_suite() {
  Suite suite;
  suite.name = "calibration";
  suite.file = "calibrate";
  suite.passes = {Pass::forward};
  suite.layers = {layer("conv1", "forward n=1 c=3 hw=227x227 k=96 rs=11x11 stride=4x4"),
                  layer("conv3", "forward n=1 c=256 hw=13x13 k=384 rs=3x3 pad=1x1")};
  for (auto& [kind, batches] : suite.batch) batches = {kBatch};
  suite.measuring.sampling.min_samples = suite.measuring.sampling.max_samples = kSamplesOfASeries;
  suite.measuring.is_width_given = true;
  return suite;
}

void replace_folder(const std::string& by, const std::string& folder) {
  const std::string before = folder + ".before";
  std::error_code why, ignored;
  fs::remove_all(before, ignored);
  fs::rename(folder, before, ignored);  // there may be none
  fs::rename(by, folder, why);
  if (why) {
    fs::rename(before, folder, ignored);
    throw UsageError(fmt::format("{}: cannot be replaced by {}: {}", folder, by, why.message()));
  }
  fs::remove_all(before, ignored);
}

void add_flags(CLI::App& verb, CalibrateOptions& options) {
  std::vector<std::string_view> others;
  for (const OverrideFlag& flag : override_flags())
    if (flag.flag != "--device" && flag.flag != "--threads" && flag.flag != "--batch")
      others.push_back(flag.flag);
  add_overrides(verb, options.overrides, others);
  verb.add_option(
          "--seconds", options.seconds,
          "Seconds for all samples of a device and number of threads (60); verification comes on top.")
      ->type_name("S")
      ->check(CLI::Range(0.01, 86400.0));
  verb.add_flag(
      "--if-unknown", options.if_unknown,
      fmt::format(
          "Leave out what was measured within the last {} days, or within {} where it is over {:.0f}%.",
          kKeptDays, counted(kKeptHoursIfWide, "hour"), 100 * kWideInterval));
  verb.footer(
      "Three runs, in each of which every candidate of two layers is measured twice, interleaved, on the\n"
      "devices and with the threads of a `run` with the same flags. They are kept in the user's cache\n"
      "($CONVSCOPE_CACHE, $XDG_CACHE_HOME/convscope or ~/.cache/convscope), for each machine, device and\n"
      "number of threads. `convscope run` then measures until the interval is as narrow as two measurements\n"
      "of a run agree, and no longer; `convscope-report compare` takes its noise floor from how two runs "
      "agree.\n"
      "Exit codes: 0 measured or known; 1 too busy a machine; 2 bad usage; 3 a device that was lost; 130\n"
      "interrupted.\n\n"
      "Example:\n  convscope calibrate --if-unknown --threads 1,2");
}

Verb calibrate_verb() {
  return make_verb<CalibrateOptions>(
      "calibrate", "Measure how far apart this machine puts two times of the same code, and keep it.",
      add_flags, calibrate);
}

}  // namespace convscope
