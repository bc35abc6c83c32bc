// allreduce.hpp: rows of `allreduce` measured over MPI, threads or GPUs, or modelled.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <optional>
#include <ostream>

#include "bench/cli/step/allreduce.hpp"
#include "bench/cli/step/step.hpp"
#include "bench/core/counted.hpp"
#include "bench/core/random.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/parallel/allreduce/device_values.hpp"
#include "bench/parallel/allreduce/gpu_ranks.hpp"
#include "bench/parallel/allreduce/measure_reduction.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"

namespace convscope {
namespace {

// Throws UsageError where the ranks differ in program or flags.
void check_same_program(MpiJob& job, const Program& program) {
  uint64_t hash = hash_of_program();
  for (size_t i = 1; i < program.argv.size(); ++i) hash = hash_of_text(hash, program.argv[i] + "\n");
  met_ranks(job, hash);
}

std::string cpu_name() {
  return describe_device(DeviceKind::cpu).name;
}

// Why this process has no GPU for each of n ranks.
std::optional<Refusal> why_not_on_gpus(int n) {
  if (const std::string defect = cuda::device_defect(); !defect.empty())
    return Refusal{"no_device", "no CUDA device: " + defect};
  const int count = cuda::device_count();
  if (n <= count) return std::nullopt;
  return Refusal{"too_few_gpus",
                 fmt::format("this machine shows {} (CUDA_VISIBLE_DEVICES may hide others); over those "
                             "of several machines start it with mpirun, or take --basis modelled",
                             counted(count, "GPU"))};
}

// What the rank that reports does where the job ends.
JobWatch::AtEnd at_end(int rank, ReductionKeeper& keeper) {
  if (rank != 0) return {};
  return [&keeper](const std::string& reason, const std::string& note) { keeper.fail(reason, note); };
}

void refuse_sizes(RowsBySize& sizes, const Refusal& why, ReductionKeeper& keeper) {
  for (auto& rows : sizes) {
    refuse_all(rows, why);
    keeper.done(rows);
  }
}

void set_device(RowsBySize& sizes, const std::string& names) {
  for (auto& rows : sizes)
    for (ReductionRow& row : rows) row.device_name = names;
}

}  // namespace

std::string fabric_of(const AllReduceOptions& options) {
  if (options.on_gpus()) return kNccl;
  return options.parallel.fabric.empty() ? kMpi : options.parallel.fabric;
}

RowSource::RowSource(const AllReduceOptions& options, const Program& program)
    : options_(options), program_(program), basis_(*from_name(kBases, options.basis)) {
  if (basis_ == Basis::modelled) network_ = read_network(options.parallel);
  if (basis_ != Basis::measured || fabric_of(options) == kThreads) return;
  if (launch().size > 1) {
    job_ = start_mpi(why_no_mpi_);
    if (!job_ && launch().rank != 0) say_of_this_rank(program, why_no_mpi_);
    if (!job_) return;
    try {
      check_same_program(*job_, program);
    } catch (const std::exception& error) {
      say_of_this_rank(program, error.what());
      throw;
    }
  } else if (!options.on_gpus()) {
    why_no_mpi_ = "start it with mpirun, as in: mpirun -np 2 " + program_at_hand() +
                  " allreduce ..., or take --fabric threads or --basis modelled";
  }
}

bool RowSource::reports() const {
  return job_ ? job_->rank() == 0 : basis_ != Basis::measured || launch().rank == 0;
}

Fleet RowSource::fleet(int n) const {
  const Ranks ranks = ranks_of(n, options_.parallel);
  if (network_) return network_->fleet(ranks);
  const bool is_mpi = job_ && !options_.on_gpus();
  return {ranks, basis_, fabric_of(options_), is_mpi ? job_->library() : "", std::nullopt};
}

void RowSource::fill(int n, RowsBySize& sizes, ReductionKeeper& keeper) {
  if (network_) return fill_by_model(sizes, keeper);
  if (job_ || !why_no_mpi_.empty()) return fill_over_mpi(n, sizes, keeper);
  return options_.on_gpus() ? fill_over_gpus(n, sizes, keeper) : fill_over_threads(n, sizes, keeper);
}

void RowSource::fill_by_model(RowsBySize& sizes, ReductionKeeper& keeper) {
  for (auto& rows : sizes) {
    for (ReductionRow& row : rows) model_reduction(row, *network_);
    keeper.done(rows);
  }
}

void RowSource::fill_over_gpus(int n, RowsBySize& sizes, ReductionKeeper& keeper) {
  if (const auto why = why_not_on_gpus(n)) return refuse_sizes(sizes, *why, keeper);
  run_ranks(n, [&](Fabric& fabric) {
    RowsBySize mine = sizes;
    try {
      measure_on_gpus(fabric, fabric.rank(), mine, keeper);
    } catch (const std::exception& error) {
      // The others wait inside NCCL, until the watch ends them.
      const std::string note = fmt::format("rank {}: {}", fabric.rank(), error.what());
      keeper.fail("library_failed", note);
      fmt::print(program_.errors, "convscope: {}\n", note);
      program_.errors.flush();
      throw;
    }
  });
}

void RowSource::fill_over_threads(int n, RowsBySize& sizes, ReductionKeeper& keeper) {
  if (n > kMaxThreadRanks)
    return refuse_sizes(sizes,
                        {"too_many_ranks", fmt::format("threads stand for {} ranks at most; take fewer, or "
                                                       "--basis modelled",
                                                       kMaxThreadRanks)},
                        keeper);
  set_device(sizes, cpu_name());
  run_ranks(n, [&](Fabric& fabric) {
    for (std::vector<ReductionRow> mine : sizes) {
      measure_reductions(fabric, options_.rule, options_.seed, mine);
      if (fabric.rank() == 0) keeper.done(mine);
    }
  });
}

void RowSource::fill_over_mpi(int n, RowsBySize& sizes, ReductionKeeper& keeper) {
  std::optional<JobWatch> watch;  // of ranks that have no part in these rows, too
  if (job_ && !options_.on_gpus()) {
    watch.emplace(job_->rank(), job_->places, true, at_end(job_->rank(), keeper));
  }
  const auto measure = [&](Fabric& fabric, std::vector<ReductionRow>& rows) {
    const int64_t bytes = rows.front().bytes;
    watch->beat("sums of " + byte_limit_text(bytes), stall_limit(bytes, kSlowestOfProcesses));
    WatchedFabric watched(fabric, *watch);
    measure_reductions(watched, options_.rule, options_.seed, rows);
    watch->rest();
  };
  std::unique_ptr<Fabric> fabric;
  if (job_ && n <= job_->size()) fabric = job_->first_ranks(n);
  if (fabric && options_.on_gpus()) return measure_on_gpus(*fabric, job_->local_rank(), sizes, keeper);
  if (fabric) set_device(sizes, each_once(gathered_texts(*fabric, cpu_name())));
  for (auto& rows : sizes) {
    if (reports()) keeper.begin(rows);
    if (!job_)
      refuse_all(rows, {launch().size > 1 ? "library_missing" : "no_ranks", why_no_mpi_});
    else if (n > job_->size())
      refuse_all(rows, {"too_few_ranks",
                        fmt::format("mpirun started {}; start more with -np {}, or take --basis modelled",
                                    job_->size(), n)});
    else if (fabric)
      measure(*fabric, rows);
    keeper.done(rows);
  }
}

void RowSource::measure_on_gpus(Fabric& fabric, int local_rank, RowsBySize& sizes, ReductionKeeper& keeper) {
  const bool keeps = fabric.rank() == 0;
  JobWatch watch(fabric.rank(), gathered_places(fabric), job_ != nullptr, at_end(fabric.rank(), keeper));
  if (keeps && !sizes.empty()) keeper.begin(sizes.front());
  WantedGpu wanted{std::nullopt, local_rank};
  if (options_.device != "cuda") wanted.index = parse_device("--device", options_.device).index;
  GpuRank gpu;
  const std::optional<Refusal> why = open_gpus(fabric, wanted, watch, gpu);
  set_device(sizes, gpu.device_names);
  WatchedFabric watched(fabric, watch);
  for (auto& rows : sizes) {
    for (ReductionRow& row : rows) row.fleet.fabric_version = gpu.library;
    if (why) {
      refuse_all(rows, *why);
    } else {
      if (keeps) keeper.begin(rows);
      const int64_t bytes = rows.front().bytes;
      watch.beat("sums of " + byte_limit_text(bytes), stall_limit(bytes));
      DeviceValues values(fabric.rank(), fabric.size(), *gpu.communicator, *gpu.device, *gpu.queue);
      measure_reductions(watched, values, options_.rule, options_.seed, rows);
    }
    if (keeps) keeper.done(rows);
  }
  watch.beat("ending NCCL", stall_limit(0));
  gpu.close();
}

}  // namespace convscope
