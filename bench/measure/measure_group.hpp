// Times all candidates of one problem side by side, randomly interleaved, until each has converged. Google
// Benchmark drives; the protocol is docs/measuring.md. Verification is not here: pass only candidates that
// passed.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/problem.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/device.hpp"
#include "bench/measure/cache_eviction.hpp"
#include "bench/measure/health.hpp"
#include "bench/measure/lost_time.hpp"
#include "bench/measure/other_programs.hpp"
#include "bench/record/result.hpp"

namespace convscope {

struct MeasureOptions {
  SamplingRule sampling;
  CacheState cache = CacheState::cold;
  uint64_t seed = 1;                  // of the data and of the interleaving
  int64_t warmup_runs = 3;            // at least, and
  double warmup_seconds = 0.05;       // at least
  double long_run_seconds = 0.05;     // a run that takes longer warms so much that one less will do
  double batch_below_seconds = 1e-3;  // shorter runs are batched (iterations_per_sample) into samples of
  double min_sample_seconds = 1e-3;   // at least this
  int64_t max_iterations = 1'000'000;
  bool single_series = false;  // of a batched candidate also a series of single runs: Measurement::single
  bool phases_apart = false;   // phases in a series of their own, where marking them costs time
  std::string circumstances;   // what else the names in benchmark.json must tell apart
  // Tests have another one; null: the device's, with the rest of Device::state(), once per sample.
  std::function<std::optional<double>()> clock_mhz = measured_clock_mhz;
  std::function<CoreReading()> read_cores = convscope::read_cores;  // likewise; null: cores are not watched
  std::function<ThreadReading()> read_threads = convscope::read_threads;  // likewise; null: not watched
  // Likewise; null where single ranges cannot be evicted.
  std::function<void(std::span<const std::span<const std::byte>>)> evict =
      kEvictsRanges ? evict_from_caches : nullptr;
  // Who to name where other programs disturbed a record; tests have another one.
  std::function<std::vector<BusyProgram>()> other_programs = [] { return busy_programs(0.2); };
  CoreReading known_cores;  // the ceilings, where they are known
  // To wait for better placed threads, all candidates together; no more than five times a candidate's limit.
  double core_patience_seconds = 5;
};

// For a GPU: runs of 50 us and more are timed one by one, since events are precise enough; shorter ones in
// batches that its queue of launches holds. The clock is the driver's. Cores and threads are not watched, and
// nothing is evicted.
void adapt_to_gpu(MeasureOptions& options);

// Whether what must be cold is evicted after each run.
inline bool evicts(const MeasureOptions& options) {
  return options.evict && options.cache != CacheState::hot;
}
// Whether a run that is not timed comes before each sample, so that what another candidate left in the caches
// is not in it.
inline bool runs_untimed(const MeasureOptions& options) {
  return !options.evict || options.cache != CacheState::cold;
}

struct MeasureCandidate {
  std::string id;  // the algorithm's
  Plan* plan = nullptr;
  Buffer* workspace = nullptr;  // the candidate's own, plan->workspace_bytes()
};

struct MeasureResult {
  Measurement time;
  Health health;
  std::exception_ptr
      failure;  // what ended this candidate, null for nothing; `time` holds the samples before it
};

// Is told the index of the candidate whose work begins, for the progress line and to name the culprit when
// the process dies.
using MeasureObserver = std::function<void(size_t candidate)>;

struct GroupMeasurement {
  std::vector<MeasureResult> results;  // in the order of the candidates
  std::string benchmark_json;          // Google Benchmark's own JSON report of the group
};

// plan_seconds of each Measurement is left 0: the caller built the plan. Throws DeviceLost when the device
// became unusable, right after `observer` was told whose work that was.
GroupMeasurement measure_group(const ConvProblem& problem, std::span<const MeasureCandidate> candidates,
                               Device& device, Queue& queue, const MeasureOptions& options,
                               const MeasureObserver& observer);

}  // namespace convscope
