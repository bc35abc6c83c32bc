// The verb `allreduce`: reductions of gradients over ranks, measured over MPI, threads or GPUs, or modelled
// from a link or a platform.
#include "bench/cli/step/allreduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "bench/cli/step/row_output.hpp"
#include "bench/cli/step/step.hpp"
#include "bench/core/error.hpp"
#include "bench/parallel/allreduce/reduction_report.hpp"
#include "bench/parallel/fabric/job_watch.hpp"
#include "bench/parallel/network/simulated_network.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

std::vector<std::string> reductions_of(const AllReduceOptions& options, Basis basis) {
  const std::string library(options.on_gpus() ? kNccl : kMpi);
  std::vector<std::string> known = all_names(kReductions);
  if (basis == Basis::measured && fabric_of(options) != kThreads) known.push_back(library);
  if (options.parallel.reduce.empty()) return known;
  std::vector<std::string> allowed = all_names(kReductions);
  allowed.push_back(library);
  for (const std::string& found : options.parallel.reduce) {
    if (std::ranges::find(allowed, found) != allowed.end()) continue;
    if (found == kNccl) throw UsageError("--reduce nccl: it sums between GPUs; add --device cuda");
    if (found == kMpi)
      throw UsageError("--reduce mpi: it sums in host memory; between GPUs the library's own is nccl");
    throw UsageError(fmt::format("--reduce: found \"{}\"; allowed is {}{}", found, comma_list(allowed),
                                 did_you_mean(found, allowed)));
  }
  return options.parallel.reduce;
}

// The command that makes one row again.
std::string rerun_of(const ReductionRow& row, const AllReduceOptions& options) {
  const Ranks& ranks = row.fleet.ranks;
  const bool is_job = row.fleet.fabric == kMpi || (options.on_gpus() && launch().size > 1);
  std::string text = is_job ? fmt::format("mpirun -np {} ", ranks.count) : "";
  text += fmt::format("{} allreduce --bytes {} --gpus {} --reduce {}", program_at_hand(),
                      byte_limit_text(row.bytes), ranks.count, row.reduce);
  if (ranks.nodes() > 1) text += fmt::format(" --per-node {}", ranks.per_node);
  if (options.on_gpus()) text += " --device " + options.device;
  if (row.fleet.basis == Basis::modelled)
    return text + " --basis modelled " + network_flags(options.parallel);
  const SamplingRule& rule = options.rule;
  const SamplingRule standard = AllReduceOptions().rule;
  if (rule.time_limit_seconds != standard.time_limit_seconds)
    text += fmt::format(" --time-limit {}", rule.time_limit_seconds);
  if (rule.max_samples != standard.max_samples) text += fmt::format(" --max-samples {}", rule.max_samples);
  return text + (row.fleet.fabric == kThreads ? " --fabric threads" : "");
}

// The rows of one number of ranks and of bytes, nothing run yet.
std::vector<ReductionRow> empty_rows(const AllReduceOptions& options, const Fleet& fleet, int64_t bytes) {
  std::vector<ReductionRow> rows;
  for (const std::string& reduce : reductions_of(options, fleet.basis)) {
    ReductionRow row;
    row.fleet = fleet;
    row.reduce = reduce;
    row.bytes = bytes;
    row.rerun = rerun_of(row, options);
    rows.push_back(std::move(row));
  }
  return rows;
}

int reduce_all(const AllReduceOptions& options, const Program& program, RowSource& source,
               ReductionKeeper& keeper) {
  const std::vector<int64_t> sizes = read_sizes("--bytes", options.bytes);
  for (int n : read_counts("--gpus", options.parallel.gpus)) {
    RowsBySize rows;
    for (int64_t bytes : sizes) rows.push_back(empty_rows(options, source.fleet(n), bytes));
    source.fill(n, rows, keeper);
  }
  if (!source.reports()) return 0;
  const std::vector<ReductionRow> all = keeper.finish();
  show_rows<ReductionRow>(program, options.json, options.parallel.out, reduction_columns(), all,
                          [&] { print_reductions(program.out, all, program.terminal.look()); });
  return exit_code_of<ReductionRow>(all);
}

int reduce(const AllReduceOptions& options, const Program& program) {
  RowSource source(options, program);
  std::optional<ReductionKeeper> keeper;
  try {
    const std::string out = source.reports() ? options.parallel.out : "";
    keeper.emplace(row_folder<ReductionRow>(program, out, "allreduce", reduction_columns()));
    return reduce_all(options, program, source, *keeper);
  } catch (const std::exception& error) {
    if (source.is_job()) say_of_this_rank(program, error.what());
    if (keeper) keeper->fail("library_failed", fmt::format("rank {}: {}", launch().rank, error.what()));
    if (source.is_job() && !source.reports()) std::this_thread::sleep_for(kForTheRecord);
    throw;
  }
}

void check_device(const AllReduceOptions& options) {
  const DeviceId device = parse_device("--device", options.device);
  if (device.kind == DeviceKind::emulator)
    throw UsageError("--device emulator: it has no other to sum with; allowed is cpu, cuda, cuda:N");
  if (!options.on_gpus()) return;
  if (options.basis != "measured") throw UsageError("--device cuda is for --basis measured only");
  if (!options.parallel.fabric.empty() && options.parallel.fabric != kNccl)
    throw UsageError(fmt::format("--fabric {}: with --device cuda bytes travel by nccl; leave it out",
                                 options.parallel.fabric));
}

void check(const CLI::App& verb, const AllReduceOptions& options) {
  const auto basis = from_name(kBases, options.basis);
  check_device(options);
  if (!options.on_gpus() && options.parallel.fabric == kNccl)
    throw UsageError("--fabric nccl: it is between GPUs; add --device cuda");
  read_counts("--gpus", options.parallel.gpus);
  read_sizes("--bytes", options.bytes);
  reductions_of(options, *basis);
  if (basis == Basis::modelled) {
    refuse_flags_of("measured allreduce", {"--time-limit", "--max-samples"}, verb);
    read_network(options.parallel);
  } else if (names_network(options.parallel) || options.parallel.fabric == kSimGrid) {
    throw UsageError("--link, --node-link, --platform and --fabric simgrid are for --basis modelled only");
  }
}

void add_flags(CLI::App& verb, AllReduceOptions& options) {
  verb.add_option("--bytes", options.bytes,
                  "Bytes of one rank's gradient, in FP32; 4KiB..1GiB is 4KiB, 16KiB, 64KiB, ...; "
                  "4KiB..64MiB when left out.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SIZE,...");
  add_parallel_flags(verb, options.parallel);
  verb.add_option("--basis", options.basis,
                  "measured (when left out), or modelled: from --link or --platform.")
      ->check(CLI::IsMember({"measured", "modelled"}))
      ->type_name("BASIS");
  verb.add_option(
          "--fabric", options.parallel.fabric,
          "Of measured rows: mpi (when left out), started by mpirun, or up to 256 threads of this process; "
          "between "
          "GPUs nccl. Of modelled ones: simgrid, where messages are simulated; the closed form when left "
          "out.")
      ->check(CLI::IsMember(
          {std::string(kMpi), std::string(kThreads), std::string(kNccl), std::string(kSimGrid)}))
      ->type_name("FABRIC");
  verb.add_option(
          "--device", options.device,
          "cpu (when left out); cuda: each rank sums in the memory of its own GPU, by NCCL. Ranks are "
          "the processes that mpirun started, or of one process as many threads. cuda:N is that GPU, "
          "for a rank alone on its machine.")
      ->type_name("NAME");
  verb.add_option("--time-limit", options.rule.time_limit_seconds, "Seconds for the samples of a row (2).")
      ->type_name("S")
      ->check(CLI::Range(0.001, 86400.0));
  verb.add_option("--max-samples", options.rule.max_samples, "Samples of a row, at most (100).")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  add_json(verb, options.json);
  verb.footer(
      "Every reduction is verified before it is timed: exact sums of integers, random values against f64, "
      "the same\n"
      "bits on all ranks. Those of one size are timed in turns. --reduce mpi is MPI's own, nccl NCCL's.\n"
      "What the figures mean is in docs/step.md.\n"
      "Exit codes: 0 all good; 1 a row is wrong, or all were refused; 2 bad usage, or a rank was lost.\n\n"
      "Examples:\n"
      "  mpirun -np 4 convscope allreduce --bytes 4KiB..256MiB --gpus 2,4 --out out/allreduce\n"
      "  mpirun -np 8 convscope allreduce --device cuda --bytes 4KiB..1GiB --gpus 2..8 --out out/nccl\n"
      "  convscope allreduce --basis modelled --link 5GB/s,5us --gpus 2..1024 --bytes 238MiB --reduce "
      "tree,ring\n"
      "  convscope allreduce --basis modelled --platform cluster.xml --gpus 2..64 --bytes 238MiB");
}

}  // namespace

Verb allreduce_verb() {
  return make_verb<AllReduceOptions>("allreduce", "Time or model the sum of gradients over several ranks.",
                                     add_flags, reduce, check);
}

}  // namespace convscope
