// step_ranks.cpp: `mpirun -np n convscope step`, a data-parallel training step on n processes, of CPUs or of
// a GPU each.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <sstream>

#include "bench/cli/step/step.hpp"
#include "bench/core/error.hpp"
#include "bench/core/random.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/parallel/allreduce/device_values.hpp"
#include "bench/parallel/allreduce/gpu_ranks.hpp"
#include "bench/parallel/fabric/job_watch.hpp"
#include "bench/parallel/fabric/mpi_job.hpp"
#include "bench/record/row_files.hpp"
#include "bench/runner/devices.hpp"
#include "bench/step/ranked_step.hpp"

namespace convscope {
namespace {

std::string rerun_of(const StepOptions& options, const StepRow& row, int threads) {
  const StepCase& of = row.of;
  std::string text = fmt::format(
      "mpirun -np {} {} step {} --basis measured --batch {} {} --choose {} --reduce {}", of.fleet.ranks.count,
      program_at_hand(), shell_word(options.config), of.is_weak ? of.batch_per_gpu() : of.batch,
      is_on_gpus(options) ? fmt::format("--device {}", name(*options.device))
                          : fmt::format("--threads {}", threads),
      shell_word(of.choose), of.reduce());
  if (of.fleet.ranks.nodes() > 1) text += fmt::format(" --per-node {}", of.fleet.ranks.per_node);
  text += fmt::format(" --overlap {} --compress {}{}", convscope::text(of.overlap), name(of.compression),
                      choice_flags(options));
  return of.is_weak ? text + " --per-gpu" : text;
}

// Why this sum cannot be run on these ranks.
std::optional<Refusal> refusal_of(const StepCase& of, const StepOptions& options, const MpiJob& job) {
  if (!is_on_gpus(options) && of.overlap.kind != OverlapKind::none && !job.takes_any_thread())
    return Refusal{"no_threads",
                   job.library() + " lets no other thread than the first communicate; take --overlap none"};
  return of.by_library ? std::nullopt : refusal(of.reduction, of.fleet.ranks);
}

// The rows of one batch, of all ranks together, nothing run yet. `library` is MPI's name and version.
std::vector<StepRow> empty_rows(const StepOptions& options, int ranks, const std::string& library,
                                const StepRun& run, int64_t batch) {
  StepCase common;
  common.network = run.network;
  common.batch = batch;
  common.is_weak = options.per_gpu;
  common.fleet = {ranks_of(ranks, options.parallel),
                  Basis::measured,
                  is_on_gpus(options) ? kNccl : kMpi,
                  is_on_gpus(options) ? "" : library,
                  {}};
  common.choose = run.choose;
  common.is_fused = run.is_fused;
  std::vector<StepRow> rows;
  for (const StepCase& of : cases_of(options, common)) {
    StepRow row;
    row.of = of;
    row.circumstances.network = run.network;
    row.circumstances.device = run.device.kind;
    row.circumstances.threads = run.threads;
    row.circumstances.workspace_cap = run.workspace_cap;
    row.device = run.device;
    row.rerun = rerun_of(options, row, run.threads);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Of the program, the config and the flags, which all ranks must have alike.
uint64_t hash_of_all(const StepOptions& options, const Suite& suite) {
  uint64_t hash = hash_of_program();
  const auto add = [&](const std::string& text) { hash = hash_of_text(hash, text); };
  add(dump_json(to_json(suite)));
  for (const auto* list :
       {&options.batch, &options.parallel.reduce, &options.overlap, &options.compress, &options.algorithms})
    for (const std::string& word : *list) add(word + ",");
  add(options.choose + (options.per_gpu ? " per GPU" : "") + (options.fuse ? " fused" : "") +
      (is_on_gpus(options) ? " on GPUs" : ""));
  add(fmt::format("{} a node, {} threads, {} of workspace", options.parallel.per_node, options.threads,
                  options.workspace_cap.value_or(-1)));
  return hash;
}

std::vector<int64_t> batches_of(const StepOptions& options, const Suite& suite, int ranks) {
  std::vector<int64_t> batches;
  if (options.batch.empty())
    batches.push_back(suite.batch.at(is_on_gpus(options) ? DeviceKind::cuda : DeviceKind::cpu).front());
  for (int batch : options.batch.empty() ? std::vector<int>{} : read_counts("--batch", options.batch))
    batches.push_back(batch);
  for (int64_t& batch : batches) {
    if (options.per_gpu) batch *= ranks;
    if (batch % ranks != 0)
      throw UsageError(
          fmt::format("--batch: {} images cannot be shared out evenly over {} ranks", batch, ranks));
  }
  return batches;
}

// Throws UsageError for what is wrong on every rank alike. Before a run takes --out's folder, so that the
// corrected command can take it.
void check_arguments(const StepOptions& options, const Suite& suite, const Program& program, int ranks) {
  batches_of(options, suite, ranks);
  StepRun run;  // as far as no driver has to be asked, which may hang
  run.device.kind = options.device.value_or(DeviceKind::cpu).kind;
  run.choose = options.choose.empty() ? std::string(kTuned) : options.choose;
  measure_options(options, program, run);
}

// Planning the candidates of one convolution, or checking one of them, on rank 0, for which the others wait.
constexpr std::chrono::minutes kLongestWait{10};
// Of processes on CPUs, of which it is not known before how long a check or a step takes.
constexpr std::chrono::minutes kLongestWaitOfProcesses{60};

// The steps of all batches on the ranks of a job.
class StepsOnRanks {
 public:
  StepsOnRanks(MpiJob& job, const StepOptions& options, const Suite& suite, const Program& program)
      : job_(job), options_(options), suite_(suite), program_(program) {
    fabric_ = met_ranks(job, hash_of_all(options, suite));
    check_arguments(options, suite, program, job.size());
    if (job.rank() == 0) keeper_.emplace(steps_folder(options, program));
    watch_.emplace(job.rank(), job.places, true, at_end_of_steps(keeper_));
  }

  std::vector<StepRow> all() {
    if (!is_on_gpus(options_)) {
      for (int64_t batch : batches_of(options_, suite_, job_.size())) {
        const StepRun run = step_run(options_, suite_, batch / job_.size());
        const auto device = make_device(DeviceKind::cpu, {.threads = run.threads});
        WatchedFabric watched(*fabric_, *watch_);
        watch_->beat("choosing algorithms", kLongestWaitOfProcesses);
        measure(run, batch, *device, watched, *sums_on_cpus(watched, *device, run.threads));
        watch_->rest();
      }
    } else {
      all_on_gpus();
    }
    watch_.reset();  // the other ranks may end before this one has printed
    return keeper_ ? keeper_->finish() : std::vector<StepRow>();
  }

 private:
  void all_on_gpus() {
    GpuRank gpu;
    const std::optional<Refusal> why = open_gpus(*fabric_, {std::nullopt, job_.local_rank()}, *watch_, gpu);
    WatchedFabric watched(*fabric_, *watch_);
    for (int64_t batch : batches_of(options_, suite_, job_.size())) {
      StepRun run = step_run(options_, suite_, batch / job_.size());
      if (why) {
        under_way_ = empty_rows(options_, job_.size(), job_.library(), run, batch);
        refuse_all(under_way_, *why);
        if (keeper_) keeper_->done(under_way_);
        continue;
      }
      run.device = gpu.device->info();
      library_ = gpu.library;
      watch_->beat("choosing algorithms", kLongestWait);
      measure(run, batch, *gpu.device, watched,
              *sums_on_gpus(watched, *gpu.device, {*gpu.communicator, *gpu.queue}));
    }
    watch_->beat("ending NCCL", stall_limit(0));
    gpu.close();
  }

  void measure(StepRun run, int64_t batch, Device& device, Fabric& fabric, RankSums& sums) {
    const int64_t images = batch / job_.size();
    StepNetwork network = network_of(suite_, images, run.is_fused);
    check_memory(network, device);
    under_way_ = empty_rows(options_, job_.size(), job_.library(), run, batch);
    for (StepRow& row : under_way_) {
      if (is_on_gpus(options_)) row.of.fleet.fabric_version = library_;
      if (const auto why = refusal_of(row.of, options_, job_)) refuse(row, *why);
    }
    if (keeper_) keeper_->begin(under_way_);
    if (run.choose == kModel) run.ceilings = measure_ceilings(device, run.threads);
    MeasureStepOptions measuring = measure_options(options_, program_, run);
    const int64_t gradient_bytes = static_cast<int64_t>(StepProgram(network).parameters * sizeof(float));
    measuring.progress = [&](const std::string& stage) {
      if (stage == kSummingGradients)
        watch_->beat(stage, is_on_gpus(options_) ? stall_limit(gradient_bytes) : kLongestWaitOfProcesses);
      else
        watch_->beat();
    };
    TrainingStep step(std::move(network), device, measuring.seed, job_.rank() * images);
    std::optional<TrainingStep> whole;
    if (job_.rank() == 0 && job_.size() > 1) {
      StepNetwork of_one = network_of(suite_, options_.per_gpu ? images : batch, run.is_fused);
      if (has_memory_for(of_one, device))
        whole.emplace(std::move(of_one), device, measuring.seed);
      else
        fmt::print(
            program_.errors,
            "convscope: rank 0 has no memory for a batch of {} beside its share, so rows have no time of "
            "one rank and no speed-up\n",
            of_one.layers.front().problem.batch);
    }
    RankedStepCalls calls;
    calls.records_spans = keeper_ && !options_.trace.empty();
    if (keeper_ && keeper_->has_folder()) calls.keep = [this] { keeper_->so_far(under_way_); };
    const std::chrono::nanoseconds least =
        is_on_gpus(options_) ? stall_limit(gradient_bytes) : stall_limit(0);
    calls.paced = [this, least](double seconds) {
      watch_->beat(std::string(kSummingGradients), std::max(least, stall_limit_beside(seconds)));
    };
    measure_ranked_step(step, program_.registry, device, fabric, sums, measuring, under_way_,
                        whole ? &*whole : nullptr, calls);
    if (keeper_) keeper_->done(under_way_);
  }

  MpiJob& job_;
  const StepOptions& options_;
  const Suite& suite_;
  const Program& program_;
  std::unique_ptr<Fabric> fabric_;
  std::optional<StepKeeper> keeper_;  // on rank 0
  std::optional<JobWatch> watch_;
  std::vector<StepRow> under_way_;
  std::string library_;  // "NCCL 2.28.9"
};

int measure_all(MpiJob& job, const StepOptions& options, const Suite& suite, const Program& program) {
  StepsOnRanks steps(job, options, suite, program);
  const std::vector<StepRow> all = steps.all();
  return job.rank() == 0 ? show_steps(options, program, all) : 0;
}

// Of the first process alone, as of the first rank.
int refuse_without_mpi(const StepOptions& options, const Suite& suite, const Program& program,
                       const Refusal& why) {
  const int ranks = launch().size;
  check_arguments(options, suite, program, ranks);
  std::vector<StepRow> all;
  for (int64_t batch : batches_of(options, suite, ranks)) {
    std::vector<StepRow> rows =
        empty_rows(options, ranks, "", step_run(options, suite, batch / ranks), batch);
    std::ranges::move(rows, std::back_inserter(all));
  }
  refuse_all(all, why);
  return report_steps(options, program, all);
}

}  // namespace

JobWatch::AtEnd at_end_of_steps(std::optional<StepKeeper>& keeper) {
  if (!keeper) return {};
  return [&keeper](const std::string& reason, const std::string& note) { keeper->fail(reason, note); };
}

uint64_t hash_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return hash_of_text(0, bytes.view());
}

void say_of_this_rank(const Program& program, std::string_view what) {
  fmt::print(program.errors, "convscope: rank {}: {}\n", launch().rank, what);
  program.errors.flush();
}

int on_mpi_ranks(const Program& program, const std::function<int(MpiJob&)>& act,
                 const std::function<int(const Refusal&)>& without) {
  std::string why_not;
  const OwnedJob job = start_mpi(why_not);
  if (!job) {
    if (launch().rank == 0) return without({"library_missing", why_not});
    // Where it is missing here alone nobody else says so. No failure: mpirun would end the first, which
    // writes the rows.
    say_of_this_rank(program, why_not);
    return 0;
  }
  try {
    return act(*job);
  } catch (const std::exception& error) {
    say_of_this_rank(program, error.what());
    throw;
  }
}

int measure_step_on_ranks(const StepOptions& options, const Program& program) {
  const Suite suite = load_suite(options.config);
  if (!options.trace.empty() && is_on_gpus(options))
    throw UsageError("--trace: of a step on several GPUs it is not known when each task ran; leave it out");
  return on_mpi_ranks(
      program, [&](MpiJob& job) { return measure_all(job, options, suite, program); },
      [&](const Refusal& why) { return refuse_without_mpi(options, suite, program, why); });
}

}  // namespace convscope
