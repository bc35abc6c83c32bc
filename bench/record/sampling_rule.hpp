// SamplingRule: how many samples a candidate gets, and how long it may take. The initial values are the
// documented defaults, written here and nowhere else: configs, tasks, measuring and records all hold one. Not
// here: when a series stops under it (bench/measure/stop_rule).
#pragma once

#include <cstdint>

namespace convscope {

struct SamplingRule {
  double time_limit_seconds = 15;  // per candidate, warm-up included
  int64_t min_samples = 10;
  int64_t max_samples = 200;
  double confidence_width = 0.005;  // stop when the median's 95% interval is within this share of it
  bool repeat = false;              // --aa: a second series of every candidate
  double stage_limit_seconds = 0;   // of one stage of one candidate; 0: bench/runner/stage_limits derives it

  bool operator==(const SamplingRule&) const = default;
};

}  // namespace convscope
