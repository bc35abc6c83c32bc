// step_ranks.cpp: `mpirun -np n convscope step`, a data-parallel training step on n processes of CPUs.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "bench/cli/step.hpp"
#include "bench/core/error.hpp"
#include "bench/core/random.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/parallel/mpi_job.hpp"
#include "bench/parallel/report.hpp"
#include "bench/parallel/row_files.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"
#include "bench/step/ranked_step.hpp"

namespace convscope {
namespace {

std::string rerun_of(const StepOptions& options, const StepRow& row, int threads) {
  const StepCase& of = row.of;
  std::string text =
      fmt::format("mpirun -np {} {} step {} --basis measured --batch {} --threads {} --choose {} --reduce {}",
                  of.fleet.ranks.count, program_at_hand(), options.config,
                  of.is_weak ? of.batch_per_gpu() : of.batch, threads, of.choose, name(of.reduction));
  text += fmt::format(" --overlap {} --compress {}", convscope::text(of.overlap), name(of.compression));
  if (!options.algorithms.empty())
    text += fmt::format(" --algorithm '{}'", fmt::join(options.algorithms, ","));
  if (of.is_fused) text += " --fuse";
  return of.is_weak ? text + " --per-gpu" : text;
}

// How gradients are summed: each reduction of plain ones, and the striped one of 1-bit codes, which the codec
// defines, with each overlap.
std::vector<StepCase> sums_of(const StepOptions& options) {
  std::vector<StepCase> sums;
  for (Compression compression : compressions_of(options))
    for (Reduction reduction :
         compression == Compression::none ? reductions_of(options) : std::vector{Reduction::striped})
      for (const Overlap& overlap : overlaps_of(options)) {
        StepCase& one = sums.emplace_back();
        one.reduction = reduction;
        one.compression = compression;
        one.overlap = overlap;
      }
  return sums;
}

// The rows of one batch, of all ranks together, nothing run yet.
std::vector<StepRow> empty_rows(const StepOptions& options, const MpiJob& job, const StepRun& run,
                                int64_t batch) {
  std::vector<StepRow> rows;
  for (const StepCase& sum : sums_of(options)) {
    StepRow row;
    row.of = sum;
    row.of.network = run.network;
    row.of.batch = batch;
    row.of.is_weak = options.per_gpu;
    row.of.fleet = {{job.size(), job.size()}, Basis::measured, "mpi", job.library(), {}};
    row.of.choose = run.choose;
    row.of.is_fused = run.is_fused;
    row.circumstances.network = run.network;
    row.circumstances.threads = run.threads;
    row.circumstances.workspace_cap = run.workspace_cap;
    row.device = run.device;
    row.rerun = rerun_of(options, row, run.threads);
    if (sum.overlap.kind != OverlapKind::none && !job.takes_any_thread()) {
      row.outcome = RowOutcome::refused;
      row.reason = "no_threads";
      row.note = job.library() + " lets no other thread than the first communicate; take --overlap none";
    } else if (const auto why = refusal(sum.reduction, row.of.fleet.ranks)) {
      row.outcome = RowOutcome::refused;
      row.reason = why->reason;
      row.note = why->note;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Ranks that run something else would wait for each other for ever, or sum what does not belong together.
void check_same(Fabric& fabric, const StepOptions& options, const Suite& suite) {
  uint64_t hash = 0;
  const auto add = [&](const std::string& text) { hash = hash_of_text(hash, text); };
  add(to_json(suite).dump());
  add(build_info().version + build_info().commit);
  for (const auto* list :
       {&options.batch, &options.parallel.reduce, &options.overlap, &options.compress, &options.algorithms})
    for (const std::string& word : *list) add(word + ",");
  add(options.choose + (options.per_gpu ? " per GPU" : "") + (options.fuse ? " fused" : ""));
  check_same_on(fabric, hash);
}

std::vector<int64_t> batches_of(const StepOptions& options, const Suite& suite, int ranks) {
  std::vector<int64_t> batches;
  if (options.batch.empty()) batches.push_back(suite.batch.at(DeviceKind::cpu).front());
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

int measure_all(MpiJob& job, const StepOptions& options, const Suite& suite, const Program& program) {
  const std::unique_ptr<LibraryFabric> fabric = job.first_ranks(job.size());
  check_same(*fabric, options, suite);
  std::optional<RowFolder<StepRow>> folder;
  if (job.rank() == 0 && !options.parallel.out.empty())
    folder.emplace(options.parallel.out, "steps",
                   RowsHead{program.argv, describe_environment(find_devices().present, program.registry)},
                   step_columns());
  std::vector<StepRow> all;
  for (int64_t batch : batches_of(options, suite, job.size())) {
    const int64_t images = batch / job.size();
    StepRun run = step_run(options, suite, images);
    StepNetwork network = network_of(suite, images, run.is_fused);
    const auto device = make_device(DeviceKind::cpu, {.threads = run.threads});
    check_memory(network, *device);
    if (run.choose == kModel) run.ceilings = measure_ceilings(*device, run.threads);
    std::vector<StepRow> rows = empty_rows(options, job, run, batch);
    const MeasureStepOptions measuring = measure_options(options, program, run);
    TrainingStep step(std::move(network), *device, measuring.seed, job.rank() * images);
    std::optional<TrainingStep> whole;
    if (job.rank() == 0 && job.size() > 1) {
      StepNetwork of_one = network_of(suite, options.per_gpu ? images : batch, run.is_fused);
      check_memory(of_one, *device);
      whole.emplace(std::move(of_one), *device, measuring.seed);
    }
    // mpirun leaves the ranks of a job that it stops no time to write.
    const auto keep = [&] {
      std::vector<StepRow> so_far = all;
      so_far.insert(so_far.end(), rows.begin(), rows.end());
      folder->finish(so_far);
    };
    measure_ranked_step(step, program.registry, *device, *fabric, measuring, rows, whole ? &*whole : nullptr,
                        folder ? std::function<void()>(keep) : nullptr);
    for (const StepRow& row : rows)
      if (folder) folder->add(row);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  if (job.rank() != 0) return 0;
  if (folder) folder->finish(all);
  if (options.json) {
    auto json = nlohmann::ordered_json::array();
    for (const StepRow& row : all) json.push_back(row_json(step_columns(), row));
    program.out << dump_json(json, 1) << '\n';
  } else {
    print_steps(program.out, all, program.terminal.look());
    if (folder) fmt::print(program.out, "{} rows are in {}\n", all.size(), options.parallel.out);
  }
  return std::ranges::all_of(all, [](const StepRow& row) { return row.outcome == RowOutcome::good; }) ? 0 : 1;
}

}  // namespace

void check_same_on(Fabric& fabric, uint64_t hash) {
  if (!same_on_all_ranks(fabric, hash))
    throw UsageError("the ranks differ in their program, config or flags; start all with the same");
}

int on_mpi_ranks(const Program& program, const std::function<int(MpiJob&)>& act) {
  std::string why_not;
  const std::unique_ptr<MpiJob> job = start_mpi(why_not);
  if (!job) throw UsageError("this program was started by mpirun, but " + why_not);
  try {
    return act(*job);
  } catch (const std::exception& error) {
    // Before the job ends with all its ranks, as it does where one of them fails.
    fmt::print(program.errors, "convscope: rank {}: {}\n", job->rank(), error.what());
    program.errors.flush();
    throw;
  }
}

int measure_step_on_ranks(const StepOptions& options, const Program& program) {
  const Suite suite = load_suite(options.config);
  if (!options.trace.empty()) throw UsageError("--trace: a step on ranks has no schedule to show");
  return on_mpi_ranks(program, [&](MpiJob& job) { return measure_all(job, options, suite, program); });
}

}  // namespace convscope
