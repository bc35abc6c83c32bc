// Times all candidates of one problem side by side, randomly interleaved, until each has converged. Google
// Benchmark drives; the protocol is docs/measuring.md. Verification is not here: pass only candidates that
// passed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/problem.hpp"
#include "bench/core/result.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/device.hpp"

namespace convscope {

struct MeasureOptions {
  CacheState cache = CacheState::cold;
  uint64_t seed = 1;             // of the data and of the interleaving
  int64_t warmup_runs = 3;       // at least, and
  double warmup_seconds = 0.05;  // at least
  int64_t min_samples = 10;
  int64_t max_samples = 200;
  double min_sample_seconds = 1e-3;  // shorter runs are batched: iterations_per_sample
  double confidence_width = 0.005;   // stop when the median's 95% interval is within this share of it
  double time_limit_seconds = 15;    // per candidate, warm-up included
  bool repeat = false;               // --aa: a second series of every candidate
};

struct MeasureCandidate {
  std::string id;  // the algorithm's
  Plan* plan = nullptr;
  Buffer* workspace = nullptr;  // the candidate's own, plan->workspace_bytes()
};

struct MeasureResult {
  Measurement time;
  Health health;
  std::string error;  // what() of an exception that ended this candidate; its samples so far are kept
};

// What is being done right now, for the progress line and for blame when the process dies: candidate index.
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
