// Shared by the files of the verb `allreduce`: allreduce.cpp has its flags and its rows, allreduce_source.cpp
// what fills them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/cli/step/parallel_flags.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/parallel/allreduce/reduction_row.hpp"
#include "bench/parallel/fabric/job_watch.hpp"
#include "bench/parallel/fabric/mpi_job.hpp"
#include "bench/parallel/network/row_keeper.hpp"

namespace convscope {

inline constexpr const char* kThreads = "threads";

struct AllReduceOptions {
  ParallelOptions parallel;
  std::vector<std::string> bytes{"4KiB..64MiB"};
  std::string basis = "measured";
  SamplingRule rule{.time_limit_seconds = 2, .max_samples = 100};
  uint64_t seed = 1;
  bool json = false;
  std::string device = "cpu";

  bool on_gpus() const { return device != "cpu"; }
};

// What bytes of measured rows travel on.
std::string fabric_of(const AllReduceOptions& options);

// The rows of one number of ranks, those of one size after the other.
using RowsBySize = std::vector<std::vector<ReductionRow>>;

using ReductionKeeper = RowKeeper<ReductionRow>;

// Where the rows of a number of ranks come from. Every process of a job calls all of it in the same order;
// only the one that reports has rows that mean something.
class RowSource {
 public:
  // Throws UsageError where the ranks of a job were started with different programs or flags.
  RowSource(const AllReduceOptions& options, const Program& program);

  bool reports() const;
  bool is_job() const { return job_ != nullptr; }  // of MPI's processes
  Fleet fleet(int n) const;
  // Fills rows that are all of n ranks, and hands each size's on.
  void fill(int n, RowsBySize& sizes, ReductionKeeper& keeper);

 private:
  void fill_by_model(RowsBySize& sizes, ReductionKeeper& keeper);
  // A thread of this process for each GPU.
  void fill_over_gpus(int n, RowsBySize& sizes, ReductionKeeper& keeper);
  void fill_over_threads(int n, RowsBySize& sizes, ReductionKeeper& keeper);
  void fill_over_mpi(int n, RowsBySize& sizes, ReductionKeeper& keeper);
  // On each rank of `fabric` with its own rows; rank 0 keeps them.
  void measure_on_gpus(Fabric& fabric, int local_rank, RowsBySize& sizes, ReductionKeeper& keeper);

  const AllReduceOptions& options_;
  const Program& program_;
  Basis basis_;
  std::unique_ptr<NetworkModel> network_;  // of modelled rows
  OwnedJob job_;
  std::string why_no_mpi_;
};

}  // namespace convscope
