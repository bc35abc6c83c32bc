// The verb `operations`: what stands between the convolutions of a network, ours and the libraries', checked
// and timed by itself on the CPU.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/other_programs.hpp"
#include "bench/operation/own_operations.hpp"
#include "bench/operation/report.hpp"
#include "bench/parallel/row_files.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"
#include "bench/runner/isolation.hpp"

namespace convscope {
namespace {

struct OperationsOptions {
  std::string config;
  int64_t batch = 0;  // 0: the config's
  int threads = 0;
  double seconds = 0.3;
  std::string out;  // empty: no folder
  bool json = false;
};

void add_flags(CLI::App& verb, OperationsOptions& options) {
  verb.add_option("CONFIG", options.config, "A JSON config file, or the name of one (docs/configs.md)")
      ->type_name("FILE")
      ->required();
  verb.add_option("--batch", options.batch, "Images; the config's when left out.")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->type_name("N");
  add_threads(verb, options.threads);
  verb.add_option("--time-limit", options.seconds,
                  "Seconds for one operation, all providers together; 0.3 when left out. Each has 6 samples "
                  "anyway.")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS");
  verb.add_option("--out", options.out, "A folder for operations.csv and operations.json.")->type_name("DIR");
  add_json(verb, options.json);
  verb.footer(
      "Bias, ReLU, both in one pass, max pooling, local response normalisation as the config's `after` "
      "names\n"
      "them, forward and backward, and each layer's update, in FP32 and nchw. Every result is compared with\n"
      "f64 before it is timed; tensors are out of the caches when it is.\n"
      "Exit codes: 0 all are right; 1 one is wrong; 2 bad usage; 130 stopped by Ctrl-C, what was measured\n"
      "written.\n\n"
      "Example:\n"
      "  convscope operations alexnet --out out/operations");
}

OperationRun run_of(const OperationsOptions& options, const Suite& suite) {
  OperationRun run;
  run.network = suite.name;
  run.batch = options.batch > 0 ? options.batch : suite.batch.at(DeviceKind::cpu).front();
  run.device = describe_device(DeviceKind::cpu);
  if (options.threads > run.device.cores)
    throw UsageError(
        fmt::format("--threads: found {}; allowed is 0 (every core) to {}, the cores of this machine",
                    options.threads, run.device.cores));
  run.threads = options.threads == 0 ? run.device.cores : options.threads;
  run.rerun = fmt::format("{} operations {} --batch {} --threads {} --time-limit {}", program_at_hand(),
                          options.config, run.batch, run.threads, options.seconds);
  return run;
}

void check_memory(std::span<const LayerOperations> layers, const DeviceInfo& device) {
  for (const LayerOperations& layer : layers)
    for (const OperationProblem& problem : layer.problems)
      // Data, expected values in f64 and the tensors.
      if (4 * problem.bytes() > device.memory_bytes)
        throw UsageError(fmt::format(
            "{} {} needs {} to be checked, and this machine has {}; take a smaller --batch", layer.layer,
            to_text(problem), bytes_text(4 * problem.bytes()), bytes_text(device.memory_bytes)));
}

int act(const OperationsOptions& options, const Program& program) {
  StopSignal stop;  // before any thread is started
  const Suite suite = load_suite(options.config);
  OperationRun run = run_of(options, suite);
  const std::vector<LayerOperations> layers = operations_of(suite, run.batch);
  check_memory(layers, run.device);
  std::optional<RowFolder<OperationRow>> folder;
  if (!options.out.empty())
    folder.emplace(options.out, "operations",
                   RowsHead{program.argv, describe_environment(find_devices().present, program.registry)},
                   operation_columns());
  const auto device = make_device(DeviceKind::cpu, {.threads = run.threads});
  if (const std::vector<BusyProgram> others = busy_programs(0.25); !is_quiet(others))
    fmt::print(program.errors, "convscope: other programs use this machine: {}\n", text(others));
  run.ceilings = measure_ceilings(*device, run.threads);
  const std::unique_ptr<OperationAlgorithm> own = own_operations();
  std::vector<const OperationAlgorithm*> providers{own.get()};
  for (const auto& library : program.registry.operations()) providers.push_back(library.get());
  OperationOptions measuring;
  measuring.seconds = options.seconds;
  measuring.known_cores.multiply_add_rate = run.ceilings.fma_flops;
  if (const double latency = run.ceilings.core_to_core_latency_seconds; latency > 0)
    measuring.known_cores.core_to_core_latency_seconds = latency;
  measuring.stopped = [&] { return stop.requested(); };
  Progress progress(program.errors, program.terminal.progress, program.terminal.columns);
  measuring.progress = [&](const std::string& what) { progress.update(what); };
  std::vector<OperationRow> rows;
  measure_operations(run, layers, providers, *device, measuring, [&](std::span<const OperationRow> some) {
    for (const OperationRow& row : some)
      if (folder) folder->add(row);
    rows.insert(rows.end(), some.begin(), some.end());
  });
  progress.clear();
  if (folder) folder->finish(rows);
  if (options.json) {
    auto json = nlohmann::ordered_json::array();
    for (const OperationRow& row : rows) json.push_back(row_json(operation_columns(), row));
    program.out << dump_json(json, 1) << '\n';
  } else {
    print_operations(program.out, rows, program.terminal.look());
    if (folder) fmt::print(program.out, "{} rows are in {}\n", rows.size(), options.out);
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
