// The verb `allreduce`: reductions of gradients over ranks, measured over MPI or threads, or modelled from a
// link or a platform.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "bench/cli/parallel_flags.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/error.hpp"
#include "bench/parallel/measure_reduction.hpp"
#include "bench/parallel/mpi_job.hpp"
#include "bench/parallel/report.hpp"
#include "bench/parallel/row_files.hpp"
#include "bench/parallel/simulated_network.hpp"
#include "bench/parallel/threads_fabric.hpp"
#include "bench/runner/config_text.hpp"
#include "bench/runner/devices.hpp"
#include "bench/runner/environment.hpp"

namespace convscope {
namespace {

constexpr const char* kMpi = "mpi";
constexpr const char* kThreads = "threads";
constexpr int kWrong = 1;

struct AllReduceOptions {
  ParallelOptions parallel;
  std::vector<std::string> bytes{"4KiB..64MiB"};
  std::string basis = "measured";
  SamplingRule rule{.time_limit_seconds = 2, .max_samples = 100};
  uint64_t seed = 1;
  bool json = false;
};

// Of measured rows.
std::string fabric_of(const AllReduceOptions& options) {
  return options.parallel.fabric.empty() ? kMpi : options.parallel.fabric;
}

std::vector<std::string> reductions_of(const AllReduceOptions& options, Basis basis) {
  std::vector<std::string> known = all_names(kReductions);
  if (basis == Basis::measured && fabric_of(options) == kMpi) known.emplace_back(kMpiReduction);
  if (options.parallel.reduce.empty()) return known;
  std::vector<std::string> allowed = all_names(kReductions);
  allowed.emplace_back(kMpiReduction);
  for (const std::string& found : options.parallel.reduce)
    if (std::ranges::find(allowed, found) == allowed.end())
      throw UsageError(fmt::format("--reduce: found \"{}\"; allowed is {}{}", found, comma_list(allowed),
                                   did_you_mean(found, allowed)));
  return options.parallel.reduce;
}

// The command that makes one row again.
std::string rerun_of(const ReductionRow& row, const AllReduceOptions& options) {
  const Ranks& ranks = row.fleet.ranks;
  std::string text = row.fleet.fabric == kMpi ? fmt::format("mpirun -np {} ", ranks.count) : "";
  text += fmt::format("{} allreduce --bytes {} --gpus {} --reduce {}", program_at_hand(),
                      byte_limit_text(row.bytes), ranks.count, row.reduce);
  if (ranks.nodes() > 1) text += fmt::format(" --per-node {}", ranks.per_node);
  if (row.fleet.basis != Basis::modelled)
    return text + (row.fleet.fabric == kThreads ? " --fabric threads" : "");
  return text + " --basis modelled " + network_flags(options.parallel);
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

void refuse_all(std::vector<ReductionRow>& rows, const std::string& reason, const std::string& note) {
  for (ReductionRow& row : rows) {
    row.outcome = RowOutcome::refused;
    row.reason = reason;
    row.note = note;
  }
}

// Where the rows of a number of ranks come from. Every process of a job calls all of it in the same order;
// only the one that reports has rows that mean something.
class Source {
 public:
  explicit Source(const AllReduceOptions& options)
      : options_(options), basis_(*basis_from_name(options.basis)) {
    if (basis_ == Basis::modelled) network_ = read_network(options.parallel);
    if (basis_ != Basis::measured || fabric_of(options) != kMpi) return;
    if (launch().size > 1)
      job_ = start_mpi(why_no_mpi_);
    else
      why_no_mpi_ = "start it with mpirun, as in: mpirun -np 2 " + program_at_hand() +
                    " allreduce ..., or take --fabric threads or --basis modelled";
  }

  bool reports() const { return job_ ? job_->rank() == 0 : basis_ != Basis::measured || launch().rank == 0; }

  Fleet fleet(int n) const {
    const Ranks ranks = ranks_of(n, options_.parallel);
    if (network_) return network_->fleet(ranks);
    return {ranks, basis_, fabric_of(options_), job_ ? job_->library() : "", std::nullopt};
  }

  // Fills rows that are all of n ranks, those of one size after the other, and hands each size's on.
  template <typename Done>
  void fill(int n, std::vector<std::vector<ReductionRow>>& sizes, const Done& done) {
    if (network_) {
      for (auto& rows : sizes) {
        for (ReductionRow& row : rows) model_reduction(row, *network_);
        done(rows);
      }
    } else if (fabric_of(options_) == kThreads) {
      run_ranks(n, [&](Fabric& fabric) {
        for (auto& rows : sizes) {
          std::vector<ReductionRow> mine = rows;
          measure_reductions(fabric, nullptr, options_.rule, options_.seed, mine);
          if (fabric.rank() != 0) continue;
          rows = mine;
          done(rows);
        }
      });
    } else {
      fill_over_mpi(n, sizes, done);
    }
  }

 private:
  template <typename Done>
  void fill_over_mpi(int n, std::vector<std::vector<ReductionRow>>& sizes, const Done& done) {
    std::unique_ptr<LibraryFabric> fabric;
    if (job_ && n <= job_->size()) fabric = job_->first_ranks(n);
    for (auto& rows : sizes) {
      if (!job_)
        refuse_all(rows, launch().size > 1 ? "library_missing" : "no_ranks", why_no_mpi_);
      else if (n > job_->size())
        refuse_all(rows, "too_few_ranks",
                   fmt::format("mpirun started {}; start more with -np {}, or take --basis modelled",
                               job_->size(), n));
      else if (fabric)
        measure_reductions(*fabric, fabric.get(), options_.rule, options_.seed, rows);
      done(rows);
    }
  }

  const AllReduceOptions& options_;
  Basis basis_;
  std::unique_ptr<NetworkModel> network_;  // of modelled rows
  std::unique_ptr<MpiJob> job_;
  std::string why_no_mpi_;
};

int reduce_all(const AllReduceOptions& options, const Program& program) {
  Source source(options);
  const std::vector<int64_t> sizes = read_sizes("--bytes", options.bytes);
  std::vector<ReductionRow> all;
  std::unique_ptr<RowFolder<ReductionRow>> folder;
  if (source.reports() && !options.parallel.out.empty())
    folder = std::make_unique<RowFolder<ReductionRow>>(
        options.parallel.out, "allreduce",
        RowsHead{program.argv, describe_environment(find_devices().present, program.registry)},
        reduction_columns());
  for (int n : read_counts("--gpus", options.parallel.gpus)) {
    std::vector<std::vector<ReductionRow>> rows;
    for (int64_t bytes : sizes) rows.push_back(empty_rows(options, source.fleet(n), bytes));
    source.fill(n, rows, [&](const std::vector<ReductionRow>& done) {
      for (const ReductionRow& row : done) {
        if (folder) folder->add(row);
        all.push_back(row);
      }
    });
  }
  if (!source.reports()) return 0;
  if (folder) folder->finish(all);
  if (options.json) {
    auto json = nlohmann::ordered_json::array();
    for (const ReductionRow& row : all) json.push_back(row_json(reduction_columns(), row));
    program.out << dump_json(json, 1) << '\n';
  } else {
    print_reductions(program.out, all, program.terminal.look());
    if (folder) fmt::print(program.out, "{} rows are in {}\n", all.size(), options.parallel.out);
  }
  const bool any_wrong =
      std::ranges::any_of(all, [](const auto& row) { return row.outcome == RowOutcome::wrong; });
  const bool any_good =
      std::ranges::any_of(all, [](const auto& row) { return row.outcome == RowOutcome::good; });
  return any_wrong || !any_good ? kWrong : 0;
}

void check(const CLI::App&, const AllReduceOptions& options) {
  const auto basis = basis_from_name(options.basis);
  read_counts("--gpus", options.parallel.gpus);
  read_sizes("--bytes", options.bytes);
  reductions_of(options, *basis);
  if (basis == Basis::modelled)
    read_network(options.parallel);
  else if (names_network(options.parallel) || options.parallel.fabric == kSimGrid)
    throw UsageError("--link, --node-link, --platform and --fabric simgrid are for --basis modelled only");
}

void add_flags(CLI::App& verb, AllReduceOptions& options) {
  verb.add_option("--bytes", options.bytes,
                  "Bytes of one rank's gradient, in FP32; 4KiB..1GiB is 4KiB, 16KiB, 64KiB, ...; 4KiB..64MiB "
                  "when left "
                  "out.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SIZE,...");
  add_parallel_flags(verb, options.parallel);
  verb.add_option("--basis", options.basis,
                  "measured (when left out), or modelled: from --link or --platform.")
      ->check(CLI::IsMember({"measured", "modelled"}))
      ->type_name("BASIS");
  verb.add_option("--fabric", options.parallel.fabric,
                  "Of measured rows: mpi (when left out), started by mpirun, or threads of this process. Of "
                  "modelled ones: simgrid, where messages are simulated; the closed form when left out.")
      ->check(CLI::IsMember({std::string(kMpi), std::string(kThreads), std::string(kSimGrid)}))
      ->type_name("FABRIC");
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
      "bits on all ranks. Those of one size are timed in turns. --reduce mpi is MPI's own. What the figures "
      "mean is in\n"
      "docs/step.md.\n"
      "Exit codes: 0 all good; 1 a row is wrong, or all were refused; 2 bad usage.\n\n"
      "Examples:\n"
      "  mpirun -np 4 convscope allreduce --bytes 4KiB..256MiB --gpus 2,4 --out out/allreduce\n"
      "  convscope allreduce --basis modelled --link 5GB/s,5us --gpus 2..1024 --bytes 238MiB --reduce "
      "tree,ring\n"
      "  convscope allreduce --basis modelled --platform cluster.xml --gpus 2..64 --bytes 238MiB");
}

}  // namespace

Verb allreduce_verb() {
  return make_verb<AllReduceOptions>("allreduce", "Time or model the sum of gradients over several ranks.",
                                     add_flags, reduce_all, check);
}

}  // namespace convscope
