// The verb `operations`: what stands between the convolutions of a network, ours and the libraries', checked
// and timed by itself, on the CPU and on GPUs.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>

#include "bench/cli/hang_watch.hpp"
#include "bench/cli/step/row_output.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/operation/own_operations.hpp"
#include "bench/operation/report.hpp"
#include "bench/record/row_files.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/cases.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/isolation.hpp"
#include "bench/runner/other_loads.hpp"
#include "bench/runner/overrides.hpp"
#include "bench/step/network_operations.hpp"

namespace convscope {
namespace {

struct OperationsOptions {
  std::string config;
  int64_t batch = 0;  // 0: the config's
  int threads = 0;
  double seconds = 0.3;
  std::string out;  // empty: no folder
  bool json = false;
  Overrides overrides;  // --device alone
};

void add_flags(CLI::App& verb, OperationsOptions& options) {
  verb.add_option("CONFIG", options.config, "A JSON config file, or the name of one (docs/configs.md)")
      ->type_name("FILE")
      ->required();
  verb.add_option("--batch", options.batch, "Images; the config's when left out.")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->type_name("N");
  std::vector<std::string_view> others;
  for (const OverrideFlag& flag : override_flags())
    if (flag.flag != "--device") others.push_back(flag.flag);
  add_overrides(verb, options.overrides, others);
  add_threads(verb, options.threads);
  verb.add_option("--time-limit", options.seconds,
                  "Seconds for one operation, all providers together; 0.3 when left out. Each has 6 samples "
                  "anyway.")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  add_out(verb, options.out, "A folder for operations.csv and operations.json.");
  add_json(verb, options.json);
  verb.footer(
      "Bias, ReLU, max and mean pooling, normalisation and addition, alone and with ReLU in one pass, as the "
      "config names\n"
      "them, forward and backward, and each layer's update, in FP32 and nchw. Every result is compared with\n"
      "f64 before it is timed; tensors are out of the caches when it is. On the emulator results are "
      "checked\n"
      "alone.\n"
      "Exit codes: 0 all are right; 1 one is wrong; 2 bad usage; 3 a device failed; 130 stopped by Ctrl-C. "
      "What\n"
      "was measured before is written.\n\n"
      "Examples:\n"
      "  convscope operations alexnet --out out/operations\n"
      "  convscope operations alexnet --device cuda");
}

OperationRun run_of(const OperationsOptions& options, const Suite& suite, const DeviceInfo& device) {
  OperationRun run;
  run.network = suite.name;
  run.batch = options.batch > 0 ? options.batch : suite.batch.at(device.kind).front();
  run.device = device;
  run.rerun = fmt::format("{} operations {} --device {} --batch {}", program_at_hand(),
                          shell_word(options.config), name(device.id()), run.batch);
  run.threads = threads_on(device, options.threads);
  if (device.kind == DeviceKind::cpu) run.rerun += fmt::format(" --threads {}", run.threads);
  run.rerun += fmt::format(" --time-limit {}", options.seconds);
  return run;
}

void check_memory(std::span<const LayerOperations> layers, const DeviceInfo& device) {
  for (const LayerOperations& layer : layers)
    for (const OperationProblem& problem : layer.problems)
      // The host has data, expected values in f64 and results; the device has two copies of all tensors.
      for (const DeviceInfo& memory : {describe_device(DeviceKind::cpu), device})
        if (4 * problem.bytes() > memory.memory_bytes)
          throw UsageError(
              fmt::format("{} {} needs {} to be checked and timed, and {} has {}; take a smaller --batch",
                          layer.layer, to_text(problem), bytes_text(4 * problem.bytes()), memory.name,
                          bytes_text(memory.memory_bytes)));
}

// What is the same for every device.
struct Surroundings {
  const OperationsOptions& options;
  const Program& program;
  StopSignal& stop;
  std::span<const OperationAlgorithm* const> providers;
  const std::unique_ptr<RowFolder<OperationRow>>& folder;
};

void measure_on(OperationRun run, std::span<const LayerOperations> layers, const Surroundings& all,
                std::vector<OperationRow>& rows) {
  std::optional<EndAtStop> beginning;  // the device and its ceilings may hang
  if (rows.empty()) beginning.emplace(all.stop);
  const auto device = make_device(run.device.id(), {.threads = run.threads});
  run.ceilings = measure_ceilings(*device, run.threads);
  OperationOptions measuring;
  measuring.seconds = all.options.seconds;
  measuring.known_cores = cores_of(run.ceilings);
  measuring.stopped = [&] { return all.stop.requested(); };
  Progress progress(all.program.errors, all.program.terminal.progress, all.program.terminal.columns);
  beginning.reset();
  std::optional<HangWatch> watch;
  if (run.device.kind == DeviceKind::cuda)
    watch.emplace(all.stop, [&](const std::string& note) {
      fmt::print(all.program.errors, "convscope: {}: {}; ended after {} rows\n", run.device.name, note,
                 rows.size());
      all.program.errors.flush();
      if (all.folder) all.folder->finish(rows);
    });
  measuring.progress = [&](const std::string& what) {
    if (watch) watch->beat(what);
    progress.update(what);
  };
  const size_t before = rows.size();
  measure_operations(run, layers, all.providers, *device, measuring, [&](std::span<const OperationRow> some) {
    for (const OperationRow& row : some)
      if (all.folder) all.folder->add(row);
    rows.insert(rows.end(), some.begin(), some.end());
  });
  progress.clear();
  if (!all.options.json)
    print_operations(all.program.out, std::span(rows).subspan(before), all.program.terminal.look());
}

int act(const OperationsOptions& options, const Program& program) {
  StopSignal stop;  // before any thread is started
  std::optional<EndAtStop> beginning(std::in_place, stop);
  Suite suite = load_suite(options.config);
  apply(options.overrides, suite);
  const DeviceList devices = find_devices();
  std::vector<OperationRun> runs;
  std::set<DeviceId> used;
  for (const DeviceInfo& device : selected_devices(suite, devices)) {
    runs.push_back(run_of(options, suite, device));
    used.insert(device.id());
    check_memory(operations_of_network(suite, runs.back().batch), device);
  }
  beginning.reset();
  const auto folder = row_folder<OperationRow>(program, options.out, "operations", operation_columns());
  if (const std::string loads = other_loads(used); !loads.empty())
    fmt::print(program.errors, "convscope: {}\n", loads);
  const std::unique_ptr<OperationAlgorithm> own = own_operations();
  std::vector<const OperationAlgorithm*> providers{own.get()};
  for (const auto& library : program.registry.operations()) providers.push_back(library.get());
  std::vector<OperationRow> rows;
  std::string failure;
  try {
    for (const OperationRun& run : runs)
      if (!stop.requested())
        measure_on(run, operations_of_network(suite, run.batch), {options, program, stop, providers, folder},
                   rows);
  } catch (const DeviceError& error) {
    failure = error.what();
  } catch (...) {
    if (folder) folder->finish(rows);
    throw;
  }
  if (folder) folder->finish(rows);
  show_rows<OperationRow>(program, options.json, options.out, operation_columns(), rows, [] {});
  if (!failure.empty()) {
    fmt::print(program.errors, "convscope: {}\n", failure);
    return kDeviceLost;
  }
  if (stop.requested()) return kInterrupted;
  const bool is_wrong = std::ranges::any_of(
      rows, [](const OperationRow& row) { return row.outcome == OperationOutcome::wrong; });
  return is_wrong ? 1 : 0;
}

}  // namespace

Verb operations_verb() {
  return make_verb<OperationsOptions>(
      "operations", "Check and time what stands between a network's convolutions, ours and the libraries'.",
      add_flags, act);
}

}  // namespace convscope
