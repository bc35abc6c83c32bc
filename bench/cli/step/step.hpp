// The verb `step`: its flags, and its three bases. Not here: the flags that it shares with allreduce
// (parallel_flags.hpp).
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/step/parallel_flags.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/parallel/fabric/job_watch.hpp"
#include "bench/parallel/fabric/mpi_job.hpp"
#include "bench/parallel/network/row_keeper.hpp"
#include "bench/parallel/schedule/step_row.hpp"
#include "bench/runner/config.hpp"
#include "bench/step/task_row.hpp"

namespace convscope {

// What --choose may be besides kBest and algorithms.
inline constexpr std::string_view kTuned = "tuned", kModel = "model";

// Empty is a flag that was not given.
struct StepOptions {
  std::string config;
  std::string basis;
  std::string choose;
  std::vector<std::string> rows, operations, batch;
  std::string trace;
  bool json = false;
  // Of a modelled step.
  ParallelOptions parallel{.gpus = {"1", "2", "4"}};
  bool per_gpu = false;
  std::vector<std::string> overlap;  // empty: overlaps_of() says
  std::vector<std::string> compress{"none"};
  std::string codec;  // empty: the codec takes no time
  // Of a step that is run.
  std::optional<DeviceId> device;  // the CPU when left out
  std::vector<std::string> algorithms;
  int threads = 0;
  std::optional<int64_t> workspace_cap = kDefaultWorkspaceCap;
  double seconds = 90;
  bool fuse = false;
  std::string load;  // empty: none
};

// --basis, or else modelled where --link or --platform asks for it.
inline Basis basis_of(const StepOptions& options) {
  if (!options.basis.empty()) return *from_name(kBases, options.basis);
  return options.parallel.link.empty() && options.parallel.platform.empty() ? Basis::measured
                                                                            : Basis::modelled;
}

// Throws UsageError where one of the flags was given, which only `whose`, as in "modelled step", has.
void refuse_flags_of(std::string_view whose, std::initializer_list<std::string_view> flags,
                     const CLI::App& verb);

// Whether a step is to run on GPUs.
inline bool is_on_gpus(const StepOptions& options) {
  return options.device && options.device->kind == DeviceKind::cuda;
}

// --reduce, the library's own apart; tree and ring when it was left out.
std::vector<Reduction> reductions_of(const StepOptions& options);
// Whether the library's own all-reduce is asked for, as it is of a step on ranks when --reduce was left out:
// NCCL's between GPUs, MPI's between processes.
bool sums_by_library(const StepOptions& options);
// --overlap; when it was left out none of a step that is run, else all three.
std::vector<Overlap> overlaps_of(const StepOptions& options);
// --compress; none when it was left out.
std::vector<Compression> compressions_of(const StepOptions& options);

// What a step's rows have in common, batch and GPUs aside: each reduction, the library's own in front, with
// each overlap; 1-bit codes by the striped one, which the codec defines. Of one rank, which reduces nothing,
// a single case.
std::vector<StepCase> cases_of(const StepOptions& options, const StepCase& common);

// step_kept.cpp: what modelled and replayed steps have in common, compute from records. A row for each of
// their circumstances, batch, number of GPUs, reduction, overlap and codec; `see` is shown each.
using StepObserver = std::function<void(const StepRow&, std::span<const StepLayer>, const Scope&)>;
std::vector<StepRow> rows_from_kept(const StepOptions& options, NetworkModel& network,
                                    const std::vector<int>& gpus, const StepObserver& see = nullptr);
// Throws UsageError where its flags are missing or wrong.
void check_kept(const CLI::App& verb, const StepOptions& options);
// Writes and prints the rows; the exit code.
int report_steps(const StepOptions& options, const Program& program, std::span<const StepRow> rows);
// Prints rows that are written.
int show_steps(const StepOptions& options, const Program& program, std::span<const StepRow> rows);
// --out's; null where it was left out. Throws UsageError where it, or --trace's file, cannot be made.
std::unique_ptr<RowFolder<StepRow>> steps_folder(const StepOptions& options, const Program& program);

// step_modelled.cpp: on n GPUs, compute from kept records, communication modelled. Runs no convolution.
void check_modelled(const CLI::App& verb, const StepOptions& options);
int model_steps(const StepOptions& options, const Program& program);

// step_measured.cpp: on a device of this machine, one process; every task runs.
void check_measured(const CLI::App& verb, const StepOptions& options);
int measure_step_here(const StepOptions& options, const Program& program);

// step_replayed.cpp: on the ranks that mpirun started, compute slept as records say. Runs no convolution.
void check_replayed(const CLI::App& verb, const StepOptions& options);
int replay_steps_on_ranks(const StepOptions& options, const Program& program);

using StepKeeper = RowKeeper<StepRow>;
// What a rank does where the job ends: the one that has a keeper writes what is under way as failed.
JobWatch::AtEnd at_end_of_steps(std::optional<StepKeeper>& keeper);

// Calls `act` on each of the ranks that mpirun started; where one throws, all end. Where there is no MPI
// calls `without`, with the reason, in the first process alone.
int on_mpi_ranks(const Program& program, const std::function<int(MpiJob&)>& act,
                 const std::function<int(const Refusal&)>& without);
// What is wrong on this rank, said at once: where a rank fails the job ends with all of them.
void say_of_this_rank(const Program& program, std::string_view what);
// Of all bytes of the program that runs: a build with changes has its version and commit, too.
uint64_t hash_of_program();

// step_ranks.cpp: the same on the ranks that mpirun started, each with its share of the images.
int measure_step_on_ranks(const StepOptions& options, const Program& program);

// step_choosers.cpp: what --choose means for a step that is run; empty where it is tuned. `options` outlives
// it. Throws UsageError.
Chooser chooser_of(const StepOptions& options, const Program& program, const StepRun& run);
bool is_policy(const std::string& choose);
// Throws UsageError where a pattern means no algorithm.
void check_patterns(std::string_view flag, const std::vector<std::string>& patterns,
                    const Registry& registry);

// What a measured step is, and how it is measured; `images` are one process's. Both throw UsageError.
StepRun step_run(const StepOptions& options, const Suite& suite, int64_t images);
MeasureStepOptions measure_options(const StepOptions& options, const Program& program, const StepRun& run);
// Whether the tensors of a step take at most three quarters of the device's memory that is not taken yet; the
// rest is for workspaces. check_memory() throws UsageError where they take more.
bool has_memory_for(const StepNetwork& network, Device& device);
void check_memory(const StepNetwork& network, Device& device);
// What it is chosen by and how long it may take, for the line that runs it again: a space before each flag.
std::string choice_flags(const StepOptions& options);
// Throws UsageError where --trace's file, which may lie in --out's folder, cannot be made. Before a run takes
// the folder, so that the corrected command can take it.
void check_trace(const StepOptions& options);

}  // namespace convscope
