// step_kept.cpp: what `step --basis modelled` and `replayed` have in common, a data-parallel training step of
// a network whose compute is from kept records measured at the batch of one GPU. Runs no convolution.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <type_traits>

#include "bench/cli/step/row_output.hpp"
#include "bench/cli/step/step.hpp"
#include "bench/core/error.hpp"
#include "bench/core/random.hpp"
#include "bench/parallel/schedule/step_report.hpp"
#include "bench/record/row_files.hpp"
#include "bench/runner/algorithm_patterns.hpp"
#include "bench/runner/config.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"
#include "bench/step/network_operations.hpp"

namespace convscope {
namespace {

// The name of the library's own all-reduce.
std::string_view library_of(const StepOptions& options) {
  return is_on_gpus(options) ? kNccl : kMpi;
}

template <const auto& values>
auto read_names(std::string_view flag, const std::vector<std::string>& texts) {
  std::vector<std::remove_cvref_t<decltype(values[0])>> read;
  const std::vector<std::string> known = all_names(values);
  for (const std::string& text : texts) {
    const auto value = from_name(values, text);
    if (!value)
      throw UsageError(fmt::format("{}: found \"{}\"; allowed is {}{}", flag, text, comma_list(known),
                                   did_you_mean(text, known)));
    read.push_back(*value);
  }
  return read;
}

// The run that measures the layers at the batch of one GPU, under the circumstances of the records.
std::string measure_command(const StepOptions& options, const StepCase& of, const CaseKey& key) {
  std::string text = fmt::format("{} run {} --batch {} --threads {}", program_at_hand(),
                                 shell_word(options.config), of.batch_per_gpu(), key.threads);
  if (key.device != DeviceKind::cpu) text += fmt::format(" --device {}", name(key.device_id()));
  if (key.problem.math != MathMode::fp32) text += fmt::format(" --math {}", name(key.problem.math));
  if (key.problem.layout != Layout::nchw) text += fmt::format(" --layout {}", name(key.problem.layout));
  if (key.cache != CacheState::cold) text += fmt::format(" --cache {}", name(key.cache));
  if (key.workspace_cap != MeasuringSettings().workspace_caps.front())
    text += " --workspace-cap " + byte_limit_text(key.workspace_cap);
  return text + " --out " + shell_word(fmt::format("out/{}-batch-{}", of.network, of.batch_per_gpu()));
}

// The run that measures what stands between them, likewise.
std::string measure_operations_command(const StepOptions& options, const StepCase& of, const CaseKey& key) {
  std::string text = fmt::format("{} operations {} --batch {}", program_at_hand(), shell_word(options.config),
                                 of.batch_per_gpu());
  text += key.device == DeviceKind::cpu ? fmt::format(" --threads {}", key.threads)
                                        : fmt::format(" --device {}", name(key.device_id()));
  return text + " --out " + shell_word(fmt::format("out/{}-operations-{}", of.network, of.batch_per_gpu()));
}

std::string rerun_of(const StepOptions& options, const StepCase& of) {
  const int n = of.fleet.ranks.count;
  const bool is_replayed = of.fleet.basis == Basis::replayed;
  std::string text = is_replayed ? fmt::format("mpirun -np {} ", n) : "";
  text += fmt::format("{} step {} --rows {} --batch {} --reduce {} --overlap {} --compress {} --choose {} ",
                      program_at_hand(), shell_word(options.config),
                      shell_word(fmt::format("{}", fmt::join(options.rows, ","))),
                      of.is_weak ? of.batch_per_gpu() : of.batch, name(of.reduction),
                      convscope::text(of.overlap), name(of.compression), shell_word(of.choose));
  if (is_replayed && options.seconds != StepOptions().seconds)
    text += fmt::format("--time-limit {} ", options.seconds);
  text += is_replayed ? "--basis replayed" : fmt::format("--gpus {} {}", n, network_flags(options.parallel));
  if (of.fleet.ranks.nodes() > 1) text += fmt::format(" --per-node {}", of.fleet.ranks.per_node);
  if (of.is_weak) text += " --per-gpu";
  if (!options.operations.empty())
    text += " --operations " + shell_word(fmt::format("{}", fmt::join(options.operations, ",")));
  return options.codec.empty() ? text : text + " --codec " + options.codec;
}

// Of what was measured: where the program lies, and what the records were ranked with, are no part of it.
std::string hash_of(const std::vector<ResultRecord>& records, const std::vector<KeptOperation>& operations) {
  uint64_t hash = 0;
  for (const ResultRecord& record : records) {
    auto json = to_json(record);
    json.erase("rerun");
    json.erase("ranking");
    hash = hash_of_text(hash, dump_json(json));
  }
  for (const KeptOperation& row : operations)
    hash = hash_of_text(
        hash, fmt::format("{} {} {} {}", row.problem, row.device_name, row.threads, row.time.median));
  return fmt::format("{:016x}", hash);
}

}  // namespace

std::vector<StepRow> rows_from_kept(const StepOptions& options, NetworkModel& network,
                                    const std::vector<int>& gpus, const StepObserver& see) {
  const Suite suite = load_suite(options.config);
  const std::vector<StepLayer> layers = step_layers_of(suite);
  const ResultFile file = read_all_results(options.rows);
  if (const auto found =
          std::ranges::find_if(file.records, [](const ResultRecord& one) { return has_virtual_time(one); });
      found != file.records.end())
    throw UsageError(fmt::format(
        "--rows: {}: its times mean nothing, and so would a step's; give results of a real device",
        found->device.name));
  const std::vector<Contest> kept_contests = contests(file.records);
  if (kept_contests.empty()) throw UsageError("--rows: the results have no record, so no layer has a time");
  if (!options.choose.empty() && options.choose != kBest)
    check_recorded("--choose", options.choose, file.records);
  const std::vector<KeptOperation> operations = read_operations(options.operations);
  const std::string hash = hash_of(file.records, operations);
  StepCase common;
  common.network = suite.name;
  common.is_weak = options.per_gpu;
  common.choose = options.choose.empty() ? std::string(kBest) : options.choose;
  if (!options.codec.empty()) common.codec_bytes_per_second = read_rate("--codec", options.codec);
  std::vector<StepRow> rows;
  std::vector<Scope> scopes = scopes_of(kept_contests);
  for (Scope& scope : scopes) {
    const ResultRecord& any = scope.any().first();
    if (!options.operations.empty()) scope.operations = times_on(any.device, any.key.threads, operations);
    for (int batch : read_counts("--batch", options.batch))
      for (int n : gpus) {
        common.batch = options.per_gpu ? int64_t{batch} * n : batch;
        common.fleet = network.fleet(ranks_of(n, options.parallel));
        for (const StepCase& of : cases_of(options, common)) {
          rows.push_back(
              modelled_step(of, layers, scope, network, measure_command(options, of, scope.any().key())));
          if (see) see(rows.back(), layers, scope);
          rows.back().rows_hash = hash;
          if (rows.back().reason == "no_operations")
            rows.back().rerun = measure_operations_command(options, of, any.key);
          if (rows.back().rerun.empty()) rows.back().rerun = rerun_of(options, of);
        }
      }
  }
  return rows;
}

std::vector<Reduction> reductions_of(const StepOptions& options) {
  std::vector<std::string> names = options.parallel.reduce;
  if (names.empty()) return {Reduction::tree, Reduction::ring};
  if (sums_by_library(options)) std::erase(names, library_of(options));
  return read_names<kReductions>("--reduce", names);
}

bool sums_by_library(const StepOptions& options) {
  const std::vector<std::string>& names = options.parallel.reduce;
  const auto is_named = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  if (is_named(kNccl) && !is_on_gpus(options))
    throw UsageError("--reduce nccl: it sums between GPUs; add --device cuda");
  if (is_named(kMpi) && is_on_gpus(options))
    throw UsageError("--reduce mpi: it sums in host memory; between GPUs the library's own is nccl");
  return basis_of(options) == Basis::measured && (names.empty() || is_named(library_of(options)));
}

std::vector<Overlap> overlaps_of(const StepOptions& options) {
  const bool is_run = basis_of(options) == Basis::measured;
  std::vector<std::string> texts = options.overlap;
  if (texts.empty())
    texts =
        is_run ? std::vector<std::string>{"none"} : std::vector<std::string>{"none", "layer", "bucket:25MiB"};
  std::vector<Overlap> overlaps;
  for (const std::string& text : texts) overlaps.push_back(read_overlap("--overlap", text));
  return overlaps;
}

std::vector<Compression> compressions_of(const StepOptions& options) {
  return read_names<kCompressions>("--compress", options.compress);
}

void check_kept(const CLI::App& verb, const StepOptions& options) {
  refuse_flags_of("measured step",
                  {"--algorithm", "--device", "--threads", "--workspace-cap", "--under-load", "--fuse"},
                  verb);
  read_counts("--batch", options.batch);
  reductions_of(options);
  compressions_of(options);
  overlaps_of(options);
  if (!options.codec.empty()) read_rate("--codec", options.codec);
  if (options.rows.empty())
    throw UsageError("--rows is missing: this step takes the times of its layers from results");
  if (options.batch.empty()) throw UsageError("--batch is missing: the images of all GPUs together");
}

std::vector<StepCase> cases_of(const StepOptions& options, const StepCase& common) {
  std::vector<StepCase> cases;
  const auto add = [&](Compression compression, Reduction reduction, bool by_library) {
    for (const Overlap& overlap : overlaps_of(options)) {
      StepCase& one = cases.emplace_back(common);
      one.reduction = reduction;
      one.by_library = by_library;
      one.compression = compression;
      one.overlap = overlap;
    }
  };
  for (Compression compression : compressions_of(options)) {
    if (compression == Compression::one_bit) {
      add(compression, Reduction::striped, false);
      continue;
    }
    if (sums_by_library(options)) add(compression, Reduction::ring, true);
    for (Reduction reduction : reductions_of(options)) add(compression, reduction, false);
  }
  if (common.fleet.ranks.count == 1) cases.resize(1);
  return cases;
}

std::unique_ptr<RowFolder<StepRow>> steps_folder(const StepOptions& options, const Program& program) {
  check_trace(options);
  return row_folder<StepRow>(program, options.parallel.out, "steps", step_columns());
}

int report_steps(const StepOptions& options, const Program& program, std::span<const StepRow> rows) {
  if (const auto folder = steps_folder(options, program)) {
    for (const StepRow& row : rows) folder->add(row);
    folder->finish(rows);
  }
  return show_steps(options, program, rows);
}

int show_steps(const StepOptions& options, const Program& program, std::span<const StepRow> rows) {
  show_rows<StepRow>(program, options.json, options.parallel.out, step_columns(), rows,
                     [&] { print_steps(program.out, rows, program.terminal.look()); });
  if (!options.trace.empty()) write_file_atomically(options.trace, dump_json(chrome_trace(rows), 1) + "\n");
  return exit_code_of(rows);
}

}  // namespace convscope
