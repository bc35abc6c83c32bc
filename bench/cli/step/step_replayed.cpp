// step_replayed.cpp: `mpirun -np n convscope step --basis replayed`, whose communication is run between the
// ranks while compute is slept.
#include <algorithm>
#include <chrono>

#include "bench/cli/step/step.hpp"
#include "bench/core/error.hpp"
#include "bench/core/random.hpp"
#include "bench/parallel/schedule/replay_step.hpp"

namespace convscope {
namespace {

// Compute is slept, and then all gradients are sent.
std::chrono::nanoseconds longest_wait(std::span<const StepRow> rows) {
  std::chrono::nanoseconds longest{0};
  for (const StepRow& row : rows) {
    const std::chrono::duration<double> compute(row.schedule.compute_seconds + row.codec_seconds);
    longest =
        std::max(longest, std::chrono::duration_cast<std::chrono::nanoseconds>(compute) +
                              stall_limit(static_cast<int64_t>(row.gradient_bytes), kSlowestOfProcesses));
  }
  return longest;
}

int refuse_without_mpi(const StepOptions& options, const Program& program, const Refusal& why) {
  ReplayedNetwork network(kMpi, "");
  std::vector<StepRow> rows = rows_from_kept(options, network, {launch().size});
  refuse_all(rows, why);
  return report_steps(options, program, rows);
}

int replay(MpiJob& job, const StepOptions& options, const Program& program) {
  ReplayedNetwork network(kMpi, job.library());
  std::vector<std::vector<ReplayedReduction>> reductions;
  const auto see = [&](const StepRow& row, std::span<const StepLayer> layers, const Scope& scope) {
    reductions.emplace_back(row.has_time() ? replayed_reductions(row.of, layers, scope)
                                           : std::vector<ReplayedReduction>{});
  };
  std::vector<StepRow> rows = rows_from_kept(options, network, {job.size()}, see);
  uint64_t hash = hash_of_program();
  for (const StepRow& row : rows) {
    auto json = row_json(step_columns(), row);
    json.erase("rerun");  // it says where each rank's program lies
    hash = hash_of_text(hash, dump_json(json));
  }
  const std::unique_ptr<Fabric> fabric = met_ranks(job, hash);
  std::optional<StepKeeper> keeper;
  if (job.rank() == 0) keeper.emplace(steps_folder(options, program));
  std::optional<JobWatch> watch(std::in_place, job.rank(), job.places, true, at_end_of_steps(keeper));
  if (keeper) keeper->begin(rows);
  watch->beat("a replayed step", longest_wait(rows));
  WatchedFabric watched(*fabric, *watch);
  replay_steps(watched, options.seconds, reductions, rows);
  watch.reset();  // the other ranks may end before this one has printed
  if (!keeper) return 0;
  keeper->done(rows);
  return show_steps(options, program, keeper->finish());
}

}  // namespace

void check_replayed(const CLI::App& verb, const StepOptions& options) {
  refuse_flags_of("modelled step", {"--gpus", "--link", "--node-link", "--platform", "--fabric"}, verb);
  check_kept(verb, options);
}

int replay_steps_on_ranks(const StepOptions& options, const Program& program) {
  if (launch().size == 1)
    throw UsageError(
        "--basis replayed: the ranks between which gradients travel are missing; start it with mpirun, as "
        "in: mpirun -np 2 " +
        program_at_hand() + " step ... --basis replayed");
  return on_mpi_ranks(
      program, [&](MpiJob& job) { return replay(job, options, program); },
      [&](const Refusal& why) { return refuse_without_mpi(options, program, why); });
}

}  // namespace convscope
