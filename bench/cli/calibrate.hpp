// `convscope calibrate`: measures what this machine can resolve (bench/runner/resolution) by kRuns short runs
// with --aa of every algorithm on two layers of AlexNet, and keeps them for the runs that follow.
#pragma once

#include <optional>

#include "bench/cli/verbs.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

struct CalibrateOptions {
  std::optional<DeviceId> device;  // null: the CPU
  int threads = 0;                 // 0: every core
  double seconds = 60;             // for all samples of all runs together
  bool if_unknown = false;         // nothing to do where runs are kept that are no older than kKeptDays
};

// Every two of them are a pair of runs.
inline constexpr int kRuns = 3;

// After so many days a machine's neighbours, kernel or memory may be others.
inline constexpr int kKeptDays = 30;

void add_flags(CLI::App& verb, CalibrateOptions& options);

// What is measured in each run: forward, no series ends before its time or its 60 samples.
Suite calibration_suite(DeviceId device, int threads);

}  // namespace convscope
