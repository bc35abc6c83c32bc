// One row of `convscope allreduce`: one reduction of so many bytes over so many ranks. Plain data, and its
// columns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/parallel/network/basis.hpp"
#include "bench/record/cells.hpp"
#include "bench/record/result.hpp"

namespace convscope {

struct ReductionRow {
  Fleet fleet;
  std::string device_name;  // of all ranks: "NVIDIA H200", with commas where they differ
  std::string reduce;       // the name of a Reduction, or the library's own: "mpi", "nccl"
  int64_t bytes = 0;        // on each rank
  RowOutcome outcome = RowOutcome::good;
  std::string reason;      // a code; empty for a good row
  std::string note;        // the sentence behind it
  Statistics time;         // seconds of the slowest rank; n is 0 without samples, as of a modelled row
  int64_t iterations = 0;  // that one sample is the mean of
  int64_t disturbed = 0;   // samples that other programs or a slowed GPU disturbed on some rank, twice
  std::optional<double> busiest_bytes;  // sent by the busiest rank; null of a library's own
  // Verification; null where nothing was run.
  std::optional<bool> exact, identical_bits, repeatable;
  std::optional<double> relative_l2;
  std::string rerun;

  bool has_samples() const { return time.n > 0; }
  bool has_time() const { return outcome == RowOutcome::good && time.median > 0; }
};

std::span<const ColumnOf<ReductionRow>> reduction_columns();

}  // namespace convscope
