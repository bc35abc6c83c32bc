// step_measured.cpp: `step --basis measured`, a training step that runs on a device of this machine.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "bench/cli/hang_watch.hpp"
#include "bench/cli/step/row_output.hpp"
#include "bench/cli/step/step.hpp"
#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/parallel/fabric/mpi_job.hpp"
#include "bench/record/row_files.hpp"
#include "bench/report/console.hpp"
#include "bench/runner/algorithm_patterns.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/isolation.hpp"
#include "bench/runner/other_loads.hpp"
#include "bench/step/report.hpp"

namespace convscope {
namespace {

int64_t batch_of(const StepOptions& options, const Suite& suite) {
  if (options.batch.empty()) return suite.batch.at(options.device.value_or(DeviceKind::cpu).kind).front();
  const std::vector<int> batches = read_counts("--batch", options.batch);
  if (batches.size() > 1)
    throw UsageError(fmt::format("--batch: found {} numbers; a measured step has one", batches.size()));
  return batches.front();
}

std::vector<std::string> patterns_of(const StepOptions& options) {
  return options.algorithms.empty() ? std::vector<std::string>{"*"} : options.algorithms;
}

// "5GB/s", "5GB/s:2"
std::optional<LoadRate> load_of(const StepOptions& options) {
  if (options.load.empty()) return std::nullopt;
  const size_t colon = options.load.rfind(':');
  LoadRate load{read_rate("--under-load", options.load.substr(0, colon)), 1};
  if (colon != std::string::npos)
    load.units = read_counts("--under-load", {options.load.substr(colon + 1)}).front();
  return load;
}

std::string rerun_of(const StepOptions& options, const StepRun& run) {
  const bool is_cpu = run.device.kind == DeviceKind::cpu;
  return fmt::format(
      "{} step {} --basis measured{} --batch {}{} --choose {}{}", program_at_hand(),
      shell_word(options.config), is_cpu ? "" : fmt::format(" --device {}", name(run.device.id())), run.batch,
      is_cpu ? fmt::format(" --threads {}", run.threads) : "", shell_word(run.choose), choice_flags(options));
}

using TaskFolder = RowFolder<TaskRow>;

// The rows; --out's folder is made when nothing is left to refuse but what only tensors show, and before
// minutes are measured.
std::vector<TaskRow> measured_rows(const StepOptions& options, const Program& program, StopSignal& stop,
                                   std::unique_ptr<TaskFolder>& folder) {
  std::optional<EndAtStop> beginning(std::in_place, stop);  // devices and ceilings may hang
  const Suite suite = load_suite(options.config);
  check_patterns("--algorithm", patterns_of(options), program.registry);  // before ceilings are measured
  check_trace(options);
  StepRun run = step_run(options, suite, batch_of(options, suite));
  StepNetwork network = network_of(suite, run.batch, run.is_fused);
  run.chains = network.chains();
  if (const std::string loads = other_loads({DeviceKind::cpu, run.device.id()}); !loads.empty())
    fmt::print(program.errors, "convscope: {}\n", loads);
  const auto device = make_device(run.device.id(), {.threads = run.threads});
  check_memory(network, *device);
  run.rerun = rerun_of(options, run);
  run.ceilings = measure_ceilings(*device, run.threads);
  MeasureStepOptions measuring = measure_options(options, program, run);
  folder = row_folder<TaskRow>(program, options.parallel.out, "tasks", task_columns());
  measuring.stopped = [&] { return stop.requested(); };
  measuring.known_cores = cores_of(run.ceilings);
  Progress progress(program.errors, program.terminal.progress, program.terminal.columns);
  beginning.reset();
  std::optional<HangWatch> watch;
  if (run.device.kind != DeviceKind::cpu)
    watch.emplace(stop, [&](const std::string& note) {
      fmt::print(program.errors, "convscope: {}: {}; no row was written\n", run.device.name, note);
      program.errors.flush();
    });
  measuring.progress = [&](const std::string& stage) {
    if (watch) watch->beat(stage);
    progress.update(stage);
  };
  measuring.alive = [&] {
    if (watch) watch->beat();
  };
  TrainingStep step(std::move(network), *device, measuring.seed);
  const StepTimes times = measure_step(step, program.registry, *device, measuring);
  progress.clear();
  return task_rows(run, step, times);
}

// Of a device that is no CPU.
void check_device(const CLI::App& verb, DeviceId device) {
  refuse_flags_of("step on the CPU", {"--threads"}, verb);
  if (launch().size > 1 && device.index > 0)
    throw UsageError("--device: each rank takes the GPU of its place among its machine's ranks; take cuda");
  if (device.kind == DeviceKind::emulator)
    throw UsageError(
        "--device: the emulator's time means nothing, and a step is there to be timed; take cpu or cuda, and "
        "to check kernels `convscope verify` and `convscope operations`");
}

}  // namespace

bool has_memory_for(const StepNetwork& network, Device& device) {
  return TrainingStep::leaves_room(TrainingStep::bytes_needed(network, device), device.usable_bytes());
}

void check_memory(const StepNetwork& network, Device& device) {
  const int64_t needed = TrainingStep::bytes_needed(network, device), there = device.usable_bytes();
  if (!has_memory_for(network, device))
    throw UsageError(fmt::format(
        "a step of {} at batch {} needs {}, more than three quarters of what {} has, {}; take a smaller "
        "--batch",
        network.name, network.layers.front().problem.batch, bytes_text(needed),
        device.info().kind == DeviceKind::cpu ? "this machine" : device.info().name, bytes_text(there)));
}

StepRun step_run(const StepOptions& options, const Suite& suite, int64_t images) {
  StepRun run;
  run.network = suite.name;
  run.batch = images;
  run.device = describe_device(options.device.value_or(DeviceKind::cpu));
  run.load = load_of(options);
  run.threads = threads_on(run.device, options.threads);
  if (run.load && run.device.kind == DeviceKind::cpu && options.threads == 0)
    run.threads = std::max(1, run.device.cores - run.load->units);
  run.choose = options.choose.empty() ? std::string(kTuned) : options.choose;
  run.workspace_cap = options.workspace_cap;
  run.is_fused = options.fuse;
  return run;
}

MeasureStepOptions measure_options(const StepOptions& options, const Program& program, const StepRun& run) {
  check_patterns("--algorithm", patterns_of(options), program.registry);
  MeasureStepOptions measuring;
  // Separate forms are no candidates of convolutions without an epilogue.
  measuring.algorithms =
      meant_by(patterns_of(options), program.registry, run.device.kind, Epilogue::bias_relu);
  measuring.choose = chooser_of(options, program, run);
  measuring.plan.workspace_cap = run.workspace_cap.value_or(INT64_MAX);
  measuring.plan.threads = run.threads;
  measuring.seconds = options.seconds;
  measuring.load = run.load;
  return measuring;
}

std::string choice_flags(const StepOptions& options) {
  const StepOptions standard;
  const auto list = [](const std::vector<std::string>& words) {
    return shell_word(fmt::format("{}", fmt::join(words, ",")));
  };
  std::string text;
  if (!options.rows.empty()) text += " --rows " + list(options.rows);
  if (!options.algorithms.empty()) text += " --algorithm " + list(options.algorithms);
  if (!options.load.empty()) text += " --under-load " + options.load;
  if (options.workspace_cap != standard.workspace_cap)
    text += " --workspace-cap " + byte_limit_text(options.workspace_cap);
  if (options.seconds != standard.seconds) text += fmt::format(" --time-limit {}", options.seconds);
  return options.fuse ? text + " --fuse" : text;
}

void check_trace(const StepOptions& options) {
  if (options.trace.empty()) return;
  namespace fs = std::filesystem;
  const std::string& out = options.parallel.out;
  const auto plain = [](const fs::path& folder) { return (folder / "").lexically_normal(); };
  std::error_code why;
  if (!out.empty() && plain(fs::absolute(options.trace).parent_path()) == plain(fs::absolute(out)))
    fs::create_directories(out, why);
  if (why) throw UsageError(fmt::format("--out: {} cannot be made: {}", out, why.message()));
  check_can_be_written(options.trace);
}

void check_measured(const CLI::App& verb, const StepOptions& options) {
  refuse_flags_of("modelled step", {"--gpus", "--link", "--node-link", "--platform", "--fabric", "--codec"},
                  verb);
  refuse_flags_of("modelled or replayed step", {"--operations"}, verb);
  if (launch().size == 1)
    refuse_flags_of("modelled step, or one that mpirun starts,",
                    {"--reduce", "--per-gpu", "--per-node", "--compress", "--overlap"}, verb);
  if (options.device && options.device->kind != DeviceKind::cpu) check_device(verb, *options.device);
  if (const auto load = load_of(options)) {
    if (launch().size > 1 || !(options.choose.empty() || options.choose == kTuned))
      throw UsageError(
          "--under-load: candidates are compared beside the load while they are tuned; leave --choose and "
          "mpirun out");
    if (options.threads != 0 && options.threads + load->units > describe_device(DeviceKind::cpu).cores)
      throw UsageError(fmt::format("--under-load: {} and {} threads need as many cores; take fewer --threads",
                                   options.threads, load->units));
  }
  if (!options.batch.empty()) read_counts("--batch", options.batch);
  reductions_of(options);
  compressions_of(options);
  overlaps_of(options);
  const bool takes_rows = options.choose == kBest || is_policy(options.choose);
  if (options.rows.empty() && takes_rows)
    throw UsageError(
        fmt::format("--choose {}: --rows is missing: the results whose winners are taken", options.choose));
  if (!options.rows.empty() && !takes_rows)
    throw UsageError(
        "--rows: a measured step takes winners from results with --choose best or a policy only; a modelled "
        "one needs --link");
}

int measure_step_here(const StepOptions& options, const Program& program) {
  if (launch().size > 1) return measure_step_on_ranks(options, program);
  StopSignal stop;  // before any thread is started
  std::unique_ptr<TaskFolder> folder;
  std::vector<TaskRow> rows;
  try {
    rows = measured_rows(options, program, stop, folder);
  } catch (const StoppedEarly& stopped) {
    fmt::print(program.errors, "convscope: {}\n", stopped.what());
    return kInterrupted;
  } catch (const DeviceError& error) {
    fmt::print(program.errors, "convscope: {}; no row was written\n", error.what());
    return kDeviceLost;
  }
  if (folder) {
    for (const TaskRow& row : rows) folder->add(row);
    folder->finish(rows);
  }
  show_rows<TaskRow>(program, options.json, options.parallel.out, task_columns(), rows,
                     [&] { print_step(program.out, rows, program.terminal.look()); });
  if (!options.trace.empty()) write_file_atomically(options.trace, dump_json(chrome_trace(rows), 1) + "\n");
  if (!stop.requested()) return 0;
  const int64_t rounds = rows.back().inside.n;
  fmt::print(program.errors, "convscope: stopped; the rows are of {}\n", counted(rounds, "complete round"));
  return kInterrupted;
}

}  // namespace convscope
