// Reductions run, verified and timed over a fabric. Start at measure_reductions(); every rank of the fabric
// calls it with the same rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/parallel/allreduce/rank_values.hpp"
#include "bench/parallel/allreduce/reduction_row.hpp"
#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/fabric/job_watch.hpp"
#include "bench/parallel/network/network_model.hpp"

namespace convscope {

// Fills outcome, verification, time and bytes sent of rows that are all of this fabric and of the same
// number of bytes: each is verified, then those that are right are timed in turns, a sample each. Afterwards
// every rank's rows say the same. A sample is the time of the slowest rank from a barrier on, by the host's
// clock, and the mean of as many all-reduces as take about a millisecond; one that was disturbed on some rank
// is taken once more. All values are 0 while it is timed, so that sums never overflow. `values` are this
// rank's; over `fabric` ranks agree, in host memory.
void measure_reductions(Fabric& fabric, RankValues& values, const SamplingRule& rule, uint64_t seed,
                        std::span<ReductionRow> rows);

// The same in host memory, over `fabric`.
void measure_reductions(Fabric& fabric, const SamplingRule& rule, uint64_t seed,
                        std::span<ReductionRow> rows);

// Whether host memory has room for so many values on each rank, as much again for messages on their way,
// which MPI may need, and scratch, where rank `rank` is: those of its container in what that may have, those
// of its machine in what is free there. In bytes.
bool has_room(std::span<const RankPlace> ranks, size_t rank, size_t values, size_t scratch,
              int64_t of_container, int64_t free_on_machine);

// Sets the time and the bytes of a row of this network's fleet, or why it is refused.
void model_reduction(ReductionRow& row, NetworkModel& network);

}  // namespace convscope
