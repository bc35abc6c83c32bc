// The ranks that `mpirun` or `srun` started, as fabrics. What calls MPI is a module of its own,
// convscope_mpi.so beside the program (mpi/), opened here only when a launcher started the program: so the
// program neither needs MPI's libraries to start nor to be built, and a bundle of it carries none.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/fabric/job_watch.hpp"

namespace convscope {

// All ranks of a job. Its end is MPI's: one job a process, ever.
class MpiJob {
 public:
  virtual ~MpiJob() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Among the ranks that share this one's memory, counted from 0.
  virtual int local_rank() const = 0;
  virtual std::string library() const = 0;  // "Open MPI 4.1.4"
  // Whether another thread than the first may communicate, one at a time.
  virtual bool takes_any_thread() const = 0;
  // A fabric of the first n ranks; null on the others. All ranks call it with the same n.
  virtual std::unique_ptr<Fabric> first_ranks(int n) = 0;

  std::vector<RankPlace> places;  // of its ranks, once they have met
};

// Ends MPI, where ranks wait for each other: under a watch for rank 0, which may still write what was
// measured, and on rank 0 for all others.
struct EndsJob {
  void operator()(MpiJob* job) const;
};
using OwnedJob = std::unique_ptr<MpiJob, EndsJob>;

// How many ranks the launcher says it started, and which of them this is: of Open MPI's mpirun, PMIx and PMI
// (srun). One where no launcher did.
struct Launch {
  int rank = 0;
  int size = 1;
  std::string_view says_size;  // the variable that says it: "SLURM_NTASKS"
};
Launch launch();

// MPI, started; null with the reason in `why_not` where the module is not there or cannot be opened. Throws
// UsageError where MPI knows another number of ranks than the launcher: srun without PMI, or a batch script
// of Slurm, starts n processes or one, and each is to MPI a job of one rank that knows no other.
OwnedJob start_mpi(std::string& why_not);

// All ranks of the job, connected and found for the first time, under a watch of their own. Throws UsageError
// where they differ in `hash`: of program, config and flags. Ranks that run something else would wait for
// each other for ever, or sum what does not belong together.
std::unique_ptr<Fabric> met_ranks(MpiJob& job, uint64_t hash, std::chrono::nanoseconds limit = kLongestStart);

}  // namespace convscope
